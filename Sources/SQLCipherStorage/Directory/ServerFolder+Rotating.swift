import CipherSQL
import Platform
import SchemaModel
import ServerStorage
import VaultKeys

/// The result of a change of the key of a server folder.
public struct ServerKeyRotation: Sendable, Equatable {
  /// The number of accounts, including those whose deletion has not ended.
  public let accounts: Int
  /// The number of databases under the new key.
  public let databases: Int
  /// The size of the databases in bytes.
  public let bytes: Int
  /// The file with the new key.
  public let keyFile: String
  /// Whether this call only completed a rotation that was interrupted after its commit.
  public let wasInterrupted: Bool
}

extension ServerFolder {
  /// Encrypts all databases of the folder under a new key, and replaces the key file.
  ///
  /// The databases are copied and verified first. Then one rename replaces the key file, with mode 0600 and the same owner.
  /// **After a crash** the former or the new key opens the whole folder, depending on the content of the key file: see
  /// ``RotationJournal``. The former key is not in the folder any more, and it still opens earlier copies of the folder. No database of this
  /// value may be open. The files of records are not encrypted under the key.
  /// - Throws: ``ServerError`` with `busy` if another process uses the folder, with `damaged` for a database that cannot be read;
  ///   `VaultError` with `noSpace` if the copies do not fit; `KeyError` if the key file cannot be written. Nothing is changed in these
  ///   cases.
  @available(*, noasync, message: "copies databases on the calling thread")
  public mutating func rotateKey() throws -> ServerKeyRotation {
    try rotateKey(freeBytes: { try Files.freeBytes(at: $0) })
  }

  /// - Parameter freeBytes: returns the free space of the file system of a folder, in bytes.
  @available(*, noasync, message: "copies databases on the calling thread")
  mutating func rotateKey(freeBytes: (_ folder: String) throws -> Int) throws -> ServerKeyRotation {
    let hold = try holdForServing()
    try lockForRewriting()
    defer {
      use.share()
      withExtendedLifetime(hold) {}
    }
    guard Files.isRegularFile(keyFile) else {
      throw ServerError(
        .system, "\(keyFile), which the new key replaces, is a link or no file", hint: "name the file that has the key")
    }
    let (accounts, files) = try keyedFiles()
    let bytes = files.reduce(0) { $0 + fileBytes($1) }
    func result(wasInterrupted: Bool) -> ServerKeyRotation {
      ServerKeyRotation(
        accounts: accounts, databases: files.count, bytes: bytes, keyFile: keyFile, wasInterrupted: wasInterrupted)
    }
    if hasSettledRotation {
      hasSettledRotation = false
      return result(wasInterrupted: true)
    }
    // Copies under the former key, of a trial that was killed.
    try Files.removeTree("\(path)/\(Self.trialName)")
    for file in files { try RotationJournal.removeDraft(of: "\(path)/\(file.path)") }
    try requireSpace(for: bytes, freeBytes)
    let content = try KeyFile.makeContent()
    let next = ServerKey(content)
    let journal = RotationJournal(former: try key.digest(), new: try next.digest(), files: files.map(\.path))
    try journal.write(to: path)
    do {
      for file in files { try copy(file, under: next) }
      try note(.rotatedKey(databases: files.count), inDraftUnder: next)
      try KeyFile.replace(at: keyFile, with: content)
    } catch {
      // If the file cannot be read, its next reader knows which key it has, and settles the change.
      if let now = try? ServerKey(at: keyFile).digest(), now == journal.former { try? journal.undo(path) }
      throw error
    }
    key = next
    try journal.complete(path)
    return result(wasInterrupted: false)
  }

  /// - Parameter bytes: the size of the databases to copy.
  /// - Throws: `VaultError` with `noSpace` if the copies do not fit.
  private func requireSpace(for bytes: Int, _ freeBytes: (_ folder: String) throws -> Int) throws {
    // A copy has the size of its original. The rest is for logs and the journal.
    let (needed, free) = (bytes + bytes / 50 + (1 << 20), try freeBytes(path))
    guard free >= needed else {
      throw VaultError(
        .noSpace, "the copies under the new key require \(needed) bytes; \(free) are free in \(path)",
        hint: "free some space; nothing was changed")
    }
  }

  /// A database with the name from which its key is derived.
  private struct KeyedFile {
    let path: String
    let keyName: String
  }

  /// Returns the number of accounts, and all databases of the folder. A database that is missing because the deletion of its
  /// account has begun is left out.
  private func keyedFiles() throws -> (accounts: Int, files: [KeyedFile]) {
    let directory = try ServerDirectory(in: self)
    defer { directory.close() }
    let deletions = try directory.deletions()
    let accounts = try directory.accounts() + deletions
    let found = accounts.flatMap { account in
      databases.map { KeyedFile(path: $0.path(account.folder), keyName: $0.keyName(account.folder)) }
        .filter { !deletions.contains(account) || Files.exists("\(path)/\($0.path)") }
    }
    return (accounts.count, [KeyedFile(path: Self.directoryFile, keyName: ServerDirectory.keyName)] + found)
  }

  private func fileBytes(_ file: KeyedFile) -> Int {
    let target = "\(path)/\(file.path)"
    return (Files.size(of: target) ?? 0) + (Files.size(of: target + "-wal") ?? 0)
  }

  /// Writes the draft of a database under another key.
  private func copy(_ file: KeyedFile, under next: ServerKey) throws {
    let source = "\(path)/\(file.path)"
    let draft = RotationJournal.draft(of: source)
    let database = try openDatabase(file.path, keyName: file.keyName, readers: 1)
    defer { database.close() }
    var problem: String?
    do {
      try database.replaceFile { snapshot in
        problem = try snapshot.copyVerified(to: draft, key: try next.databaseKey(file.keyName))
        return nil
      }
    } catch let error as SQLError where error.isOfDamage {
      throw Self.damage(source, error)
    }
    if let problem {
      throw ServerError(
        .damaged, "the copy of \(source) under the new key failed verification: \(problem)",
        hint: "check the disk; nothing was changed")
    }
    try Files.copyOwner(of: source, to: draft)
    try Files.syncFolder(Files.parent(of: draft))
  }

  /// Adds an event to the audit log of the directory's draft, so that it is there exactly if the key is changed.
  private func note(_ event: AuditEvent, inDraftUnder next: ServerKey) throws {
    let draft = RotationJournal.draft(of: "\(path)/\(Self.directoryFile)")
    let database = try connect(draft, try next.databaseKey(ServerDirectory.keyName), 1)
    defer { database.close() }
    try database.write { try ServerDirectory.note(event, by: actor, at: environment.now, $0) }
    try database.withUnchangingFile { path, _ in try Files.syncFile(path) }
  }
}
