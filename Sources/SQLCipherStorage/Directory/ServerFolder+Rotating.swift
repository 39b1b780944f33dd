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
  /// **After a crash** the former or the new key opens the whole folder, depending on the content of the key file. The former key is
  /// not in the folder any more, and it still opens earlier copies of the folder. No database of this value may be open. The files
  /// of records are not encrypted under the key.
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
    let isCompletion = hasSettledRotation
    let (result, next) = try withSoleUse { () -> (ServerKeyRotation, ServerKey) in
      guard Files.isRegularFile(keyFile) else {
        throw ServerError(
          .system, "\(keyFile), which the new key replaces, is a link or no file",
          hint: "name the file that has the key")
      }
      let groups = try keyedFiles()
      let files = groups.flatMap(\.files)
      let bytes = files.reduce(0) { $0 + fileBytes($1) }
      if !isCompletion {
        try requireSpace(for: bytes, freeBytes, "the copies under the new key require")
      }
      return (
        ServerKeyRotation(
          accounts: groups.count { $0.account != nil }, databases: files.count, bytes: bytes, keyFile: keyFile,
          wasInterrupted: isCompletion), isCompletion ? key : try replaceKey(of: files)
      )
    }
    (key, hasSettledRotation) = (next, false)
    return result
  }

  /// - Returns: the new key.
  private func replaceKey(of files: [KeyedFile]) throws -> ServerKey {
    // Copies under the former key, of a trial that was killed.
    try Files.removeTree("\(path)/\(Self.trialName)")
    for file in files { try RotationJournal.removeDraft(of: "\(path)/\(file.path)") }
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
    try journal.complete(path)
    return next
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
