import CipherSQL
import Platform
import SchemaModel
import ServerStorage

/// The result of compacting the databases of one account, or the directory.
public struct FolderCompaction: Sendable, Equatable {
  /// The account; `nil` for the directory.
  public let account: AccountName?
  /// The size of the databases before, with their write-ahead logs, in bytes.
  public let bytesBefore: Int
  /// The size afterwards.
  public let bytesAfter: Int
  /// The reason why a database could not be compacted, which is unchanged then; `nil` without a problem.
  public let problem: String?
}

extension ServerFolder {
  /// Returns the free space in all databases to the file system, and removes files that interrupted commands have left.
  ///
  /// Each database is copied without its free pages, the copy is verified, and one rename replaces the database. A running server keeps
  /// its databases open, and would write to the replaced ones.
  /// - Parameter done: receives the result of the directory and of each account. An account that fails does not stop the others.
  /// - Returns: the size of the removed files in bytes.
  /// - Throws: ``ServerError`` with `busy` if another process uses the folder, and `VaultError` with `noSpace` if a copy of the largest
  ///   database does not fit, before a database is changed; the error of the directory; `SQLError` with `diskFull`.
  @available(*, noasync, message: "copies databases on the calling thread")
  public func compact(_ done: (FolderCompaction) throws -> Void) throws -> Int {
    try compact(freeBytes: { try Files.freeBytes(at: $0) }, done)
  }

  /// - Parameter freeBytes: returns the free space of the file system of a folder, in bytes.
  @available(*, noasync, message: "copies databases on the calling thread")
  func compact(
    freeBytes: (_ folder: String) throws -> Int, _ done: (FolderCompaction) throws -> Void
  ) throws -> Int {
    try withSoleUse {
      let groups = try keyedFiles()
      let removed = try removeLeftovers(of: groups.flatMap(\.files))
      let largest = groups.flatMap(\.files).map(fileBytes).max() ?? 0
      try requireSpace(for: largest, freeBytes, "a copy of the largest database requires")
      for group in groups { try done(compact(group)) }
      return removed
    }
  }

  private func compact(_ group: KeyedFiles) throws -> FolderCompaction {
    let before = group.files.reduce(0) { $0 + fileBytes($1) }
    var problem: (any Error)?
    for file in group.files {
      do { try compact(file) } catch {
        // A directory that cannot be read, and a full disk, concern all accounts.
        guard group.account != nil, (error as? SQLError)?.code != .diskFull else { throw error }
        problem = problem ?? error
      }
    }
    return FolderCompaction(
      account: group.account, bytesBefore: before, bytesAfter: group.files.reduce(0) { $0 + fileBytes($1) },
      problem: problem.map { "\($0)" })
  }

  private func compact(_ file: KeyedFile) throws {
    let source = "\(path)/\(file.path)"
    let draft = source + Self.compactSuffix
    // Also moves what a crash has left in the log into the database.
    let database = try openDatabase(file.path, keyName: file.keyName, readers: 1)
    do {
      defer { database.close() }
      try database.withWriter { try $0.checkpoint() }
    }
    do {
      let copied = Result { try CompactedCopy.make(of: source, to: draft, key: try key.databaseKey(file.keyName)) }
      if case .success(let problem?) = copied {
        throw ServerError(
          .damaged, "the compacted copy of \(source) failed verification: \(problem)", hint: "check the folder")
      }
      if case .failure(let error as SQLError) = copied, error.isOfDamage { throw Self.damage(source, error) }
      _ = try copied.get()
      guard Files.size(of: source + "-wal") ?? 0 == 0 else {
        throw ServerError(.disk, "the write-ahead log of \(source) could not be emptied", hint: "check the disk")
      }
      try Files.copyOwner(of: source, to: draft)
      for log in RotationJournal.logs(of: source) { try Files.removeTree(log) }
      try Files.syncFolder(Files.parent(of: source))
      try Files.rename(draft, to: source)
      try Files.syncFolder(Files.parent(of: source))
    } catch {
      // The next call removes a file that cannot be removed now.
      try? Files.removeTree(draft)
      throw error
    }
  }

  private static let compactSuffix = ".compact"
  /// The beginning of the names of temporary copies of objects in the folder of an account.
  package static let scratchPrefix = "compared-"

  /// Removes the copies of a trial that was killed, and drafts of databases that never got their name.
  /// - Returns: their size in bytes.
  private func removeLeftovers(of files: [KeyedFile]) throws -> Int {
    var found = ["\(path)/\(Self.trialName)"]
    for file in files {
      for suffix in [Self.newSuffix, RotationJournal.draftSuffix, Self.compactSuffix] {
        let draft = "\(path)/\(file.path)\(suffix)"
        found += [draft] + RotationJournal.logs(of: draft)
      }
    }
    for folder in Set(files.map { Files.parent(of: "\(path)/\($0.path)") }) {
      found += try Files.names(in: folder).filter { $0.hasPrefix(Self.scratchPrefix) }.map { "\(folder)/\($0)" }
    }
    var bytes = 0
    for path in found where Files.exists(path) {
      bytes += try Self.treeBytes(path)
      try Files.removeTree(path)
    }
    return bytes
  }

  private static func treeBytes(_ path: String) throws -> Int {
    guard Files.isFolder(path) else { return Files.size(of: path) ?? 0 }
    return try Files.names(in: path).reduce(0) { $0 + (try treeBytes("\(path)/\($1)")) }
  }
}
