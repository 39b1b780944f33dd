import Platform
import ServerStorage

/// The file `rotation` of a folder, which exists while the key of the folder changes. It makes the change of all databases and of
/// the key file one step:
///
/// 1. The journal is written. It has the digests of both keys and the names of the databases.
/// 2. Each database is copied under the new key to a draft beside it, which is verified and durable.
/// 3. One rename replaces the key file. It commits the change: from now on only the new key opens the folder.
/// 4. The journal is replaced by one without the former key, and each draft replaces its database.
/// 5. The journal is removed.
///
/// After a crash, the next opening of the folder settles the change first. The content of the key file decides: with the former
/// key the drafts are removed, and with the new key they replace the databases. Neither step needs the other key.
struct RotationJournal: Equatable {
  /// The digest of the former key; `nil` after the commit, when drafts may have replaced databases.
  var former: String?
  /// The digest of the new key.
  let new: String
  /// The paths of the databases in the folder.
  let files: [String]

  init(former: String?, new: String, files: [String]) {
    (self.former, self.new, self.files) = (former, new, files)
  }

  private static let name = "rotation"
  private static let header = "rotation of a server key, version 1"

  /// Returns the path of the draft of a database.
  static func draft(of database: String) -> String { database + draftSuffix }

  static let draftSuffix = ".rotated"

  /// The files that SQLite may keep beside a database.
  static func logs(of database: String) -> [String] { ["-wal", "-shm", "-journal"].map { database + $0 } }

  // MARK: The file

  /// Reads the journal of a folder; `nil` if its key does not change.
  /// - Throws: ``ServerError`` with `damaged` for a file that this program does not know.
  init?(in folder: String) throws {
    let path = "\(folder)/\(Self.name)"
    guard Files.exists(path) else { return nil }
    let bytes = try OpenFile(reading: path).content()
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    func values(_ name: String) -> [String] {
      lines.compactMap { $0.hasPrefix(name + " ") ? String($0.dropFirst(name.count + 1)) : nil }
    }
    self.init(former: values("former").first, new: values("new").first ?? "", files: values("file"))
    guard text.utf8.elementsEqual(bytes) else {
      throw ServerError(
        .damaged, "\(path), which describes an interrupted change of the key, cannot be read",
        hint: "use the newest version of this program, or restore the folder from a backup")
    }
  }

  private var text: String {
    let lines =
      [Self.header, former.map { "former \($0)" }, "new \(new)"].compactMap { $0 } + files.map { "file \($0)" }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Replaces the journal of a folder, durably.
  func write(to folder: String) throws {
    try Array(text.utf8).withUnsafeBytes { try AtomicFile("\(folder)/\(Self.name)").replace(with: $0) }
  }

  private static func remove(from folder: String) throws {
    try Files.removeTree("\(folder)/\(name)")
    try Files.syncFolder(folder)
  }

  // MARK: Settling an interrupted change

  /// Ends the change of the key that a crash has interrupted. No process may have a database of the folder open.
  /// - Parameters:
  ///   - key: the key that the key file has now.
  ///   - keyFile: the path of this file.
  /// - Returns: whether the change is complete; `false` if there was none, or if it is undone.
  /// - Throws: ``ServerError`` with `wrongKey` if the key is neither of the two.
  static func settle(_ folder: String, key: ServerKey, keyFile: String) throws -> Bool {
    guard let journal = try RotationJournal(in: folder) else { return false }
    let digest = try key.digest()
    if digest == journal.new {
      // The databases depend on it from now on. A crash may have come before its rename was durable.
      try Files.syncFolder(Files.parent(of: keyFile))
      try journal.complete(folder)
      return true
    }
    guard digest == journal.former else {
      throw ServerError(
        .wrongKey, "the key does not open \(folder), whose key was changed last", remedy: .nameKeyFile)
    }
    try journal.undo(folder)
    return false
  }

  /// Replaces each database by its draft. The new key file is durable.
  func complete(_ folder: String) throws {
    var committed = self
    committed.former = nil
    if committed != self { try committed.write(to: folder) }
    let databases = databases(in: folder)
    // SQLite would apply the log of a former database to the draft that gets its name. Each log is gone durably before the
    // first rename.
    let rest = databases.filter { Files.exists(Self.draft(of: $0)) }
    for log in rest.flatMap(Self.logs) { try Files.removeTree(log) }
    try Self.syncFolders(of: databases)
    for database in rest { try Files.rename(Self.draft(of: database), to: database) }
    try Self.removeDrafts(of: databases)
    try Self.remove(from: folder)
  }

  /// Removes the drafts. The key file is the former one.
  func undo(_ folder: String) throws {
    // First and durably: without the journal, no opening of the folder removes a draft that another crash brings back.
    try Self.removeDrafts(of: databases(in: folder))
    try Self.remove(from: folder)
  }

  private func databases(in folder: String) -> [String] { files.map { "\(folder)/\($0)" } }

  private static func syncFolders(of databases: [String]) throws {
    for folder in Set(databases.map { Files.parent(of: $0) }).sorted() { try Files.syncFolder(folder) }
  }

  /// Removes the drafts of databases, durably.
  private static func removeDrafts(of databases: [String]) throws {
    for database in databases { try removeDraft(of: database) }
    try syncFolders(of: databases)
  }

  /// Removes the draft of a database, complete or not.
  static func removeDraft(of database: String) throws {
    for file in [draft(of: database)] + logs(of: draft(of: database)) { try Files.removeTree(file) }
  }
}
