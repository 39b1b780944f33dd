import CipherSQL
import VaultKeys

/// How far restoring a backup has come.
public enum RestoreProgress: Sendable {
  /// Writes the files; bytes done and the size of the backup.
  case writing(done: Int, total: Int)
  /// Checks the database.
  case checking
}

extension Vault {
  /// Makes a vault of a backup. It appears whole, or not at all, and only after everything in it was verified.
  /// - Parameters:
  ///   - path: the backup.
  ///   - target: the folder to make, whose parent exists.
  ///   - secret: opens one of the slots that the backup carries.
  /// - Throws: ``VaultError`` with `damaged` when the backup is not what was written, with `alreadyExists`, `noSpace` or
  ///   `cannotWrite`; `KeyError` with `wrongSecret` and its like.
  public static func restore(
    _ path: String, to target: String, with secret: UnlockSecret,
    progress: (RestoreProgress) throws -> Void = { _ in }
  ) throws {
    let file = try OpenFile(reading: path)
    let total = try file.size()
    let reader = try BackupReader(file)
    let keys = try reader.keyring.unlock(with: secret)
    try reader.begin(key: try keys.backupKey())
    let draft = try StagedVault(for: VaultLayout(folder: target))
    do {
      let free = try Files.freeBytes(at: draft.layout.folder)
      guard free > total else {
        throw VaultError(
          .noSpace, "the vault needs \(total) bytes, and \(free) are free", hint: "free some space and try again")
      }
      let generation = keys.keyring.generation.number
      try Files.makeFolder(draft.layout.generation(generation))
      let database = draft.layout.database(generation: generation)
      try unpack(reader, into: draft.layout, database: database) { try progress(.writing(done: $0, total: total)) }
      try Files.syncFolder(draft.layout.generation(generation))
      try progress(.checking)
      try verify(database, keys)
      try becomeNewDevice(database, keys)
      try KeyringFile.create(keys.keyring, at: draft.layout.keyring)
      try draft.publish()
    } catch {
      draft.abandon()
      throw error
    }
  }

  private static func unpack(
    _ reader: BackupReader, into layout: VaultLayout, database: String, _ progress: (Int) throws -> Void
  ) throws {
    var output: OpenFile?
    var left = 0
    var done = 0
    var hasDatabase = false
    while true {
      switch try reader.next() {
      case .file(let name, let size):
        guard left == 0 else { throw reader.damaged("a file of it is cut short") }
        try output?.synchronize()
        let isDatabase = name == BackupFormat.databaseName
        hasDatabase = hasDatabase || isDatabase
        output = try OpenFile(creating: isDatabase ? database : attachment(name, in: layout))
        left = size
      case .content(let bytes):
        guard let output, bytes.count <= left else { throw reader.damaged("a file of it is too long") }
        try output.write(bytes)
        left -= bytes.count
        done += bytes.count
        try progress(done)
      case .end:
        guard left == 0, hasDatabase else { throw reader.damaged("a file of it is missing") }
        try output?.synchronize()
        try syncAttachments(layout)
        return
      }
    }
  }

  /// The place of an encrypted file, in a folder that is made when it is not there.
  private static func attachment(_ name: String, in layout: VaultLayout) throws -> String {
    let path = layout.folder + "/" + name
    let folder = VaultLayout.parent(of: path)
    if !Files.exists(folder) { try Files.makeFolder(folder) }
    return path
  }

  private static func syncAttachments(_ layout: VaultLayout) throws {
    for folder in try Files.names(in: layout.attachments) { try Files.syncFolder(layout.attachments + "/" + folder) }
  }

  private static func isDamage(_ problem: String) -> Bool {
    !Doctor.isAboutValue(problem) && !problem.contains("FTS5 table")
  }

  /// The vault that the backup was made of may still be in use, so the restored one is another device: it draws an id of
  /// its own at the next contact and compares all records.
  private static func becomeNewDevice(_ path: String, _ keys: UnlockedKeyring) throws {
    let database = try Database(path: path, key: GuardedKey(bytes: keys.databaseKey))
    defer { database.close() }
    try database.write { try SyncSettings.drawDevice(reason: "restore", in: $0) }
  }

  /// Opens the database and looks at every page of it.
  private static func verify(_ path: String, _ keys: UnlockedKeyring) throws {
    let database = try Database(path: path, key: GuardedKey(bytes: keys.databaseKey))
    defer { database.close() }
    // A reference that leads nowhere, or a value that breaks a rule of today, is no damage of the backup: it was in the
    // vault, and `doctor` names it.
    try database.read { connection in
      for check in [IntegrityCheck.pages, .structure] {
        guard let problem = try connection.problems(found: check).first(where: Self.isDamage) else {
          continue
        }
        throw VaultError(
          .damaged, "the database of the backup is damaged: \(problem)", hint: "name another backup")
      }
    }
  }
}
