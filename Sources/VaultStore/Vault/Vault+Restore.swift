import CipherSQL
import Platform
import VaultKeys

/// The progress of a restore.
public enum RestoreProgress: Sendable {
  /// The files are being written; the bytes done and the size of the backup.
  case writing(done: Int, total: Int)
  /// The database is being checked.
  case checking
}

extension Vault {
  /// Creates a vault from a backup. The vault appears complete or not at all, and only after the whole backup was
  /// verified.
  /// - Parameters:
  ///   - path: the backup.
  ///   - target: the folder to create. Its parent must exist.
  ///   - secret: opens one of the key slots in the backup.
  ///   - configuration: how the database of the backup is opened to check it.
  /// - Throws: ``VaultError`` with `damaged` when the backup is not authentic or is incomplete, with `refused` when
  ///   its keyring has a newer format, with `alreadyExists`, `noSpace` or `cannotWrite`; `KeyError` such as
  ///   `wrongSecret`.
  public static func restore(
    _ path: String, to target: String, with secret: UnlockSecret, configuration: Configuration = Configuration(),
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
          .noSpace, "the vault requires \(total) bytes; \(free) are free", hint: "free some space and try again")
      }
      let generation = keys.keyring.generation.number
      try Files.makeFolder(draft.layout.generation(generation))
      let database = draft.layout.database(generation: generation)
      try unpack(reader, into: draft.layout, database: database) { try progress(.writing(done: $0, total: total)) }
      try Files.syncFolder(draft.layout.generation(generation))
      try progress(.checking)
      try verify(database, keys, configuration)
      try becomeNewDevice(database, keys, configuration)
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
        guard left == 0 else { throw reader.damaged("one of its files is truncated") }
        try output?.synchronize()
        let isDatabase = name == BackupFormat.databaseName
        hasDatabase = hasDatabase || isDatabase
        output = try OpenFile(creating: isDatabase ? database : attachment(name, in: layout))
        left = size
      case .content(let bytes):
        guard let output, bytes.count <= left else { throw reader.damaged("one of its files is too long") }
        try output.write(bytes)
        left -= bytes.count
        done += bytes.count
        try progress(done)
      case .end:
        guard left == 0, hasDatabase else { throw reader.damaged("one of its files is missing") }
        try output?.synchronize()
        try syncAttachments(layout)
        return
      }
    }
  }

  /// Returns the path of an encrypted file and creates its folder if it is missing.
  private static func attachment(_ name: String, in layout: VaultLayout) throws -> String {
    let path = layout.folder + "/" + name
    let folder = Files.parent(of: path)
    if !Files.exists(folder) { try Files.makeFolder(folder) }
    return path
  }

  private static func syncAttachments(_ layout: VaultLayout) throws {
    for folder in try Files.names(in: layout.attachments) { try Files.syncFolder(layout.attachments + "/" + folder) }
  }

  private static func isDamage(_ problem: String) -> Bool {
    !Doctor.isAboutValue(problem) && !problem.contains("FTS5 table")
  }

  /// Makes the restored vault another device, because the original vault may still be in use. The vault draws its
  /// own device id at the next contact and compares all records.
  private static func becomeNewDevice(
    _ path: String, _ keys: UnlockedKeyring, _ configuration: Configuration
  ) throws {
    let database = try Database(path: path, key: GuardedKey(bytes: keys.databaseKey), configuration: configuration)
    defer { database.close() }
    try database.write { try SyncSettings.drawDevice(reason: "restore", in: $0) }
  }

  /// Opens the database and checks every page and the structure.
  private static func verify(_ path: String, _ keys: UnlockedKeyring, _ configuration: Configuration) throws {
    let database = try Database(path: path, key: GuardedKey(bytes: keys.databaseKey), configuration: configuration)
    defer { database.close() }
    // A reference to a missing record, or a value that violates a current rule, is no damage of the backup. The
    // original vault already had it, and `doctor` reports it.
    try database.read { connection in
      for check in [IntegrityCheck.pages, .structure] {
        guard let problem = try connection.problems(found: check).first(where: Self.isDamage) else {
          continue
        }
        throw VaultError(
          .damaged, "the database of the backup is damaged: \(problem)", hint: "use another backup")
      }
    }
  }
}
