import CipherSQL
import Platform
import SQLCipherStorage
import ServerStorage

/// The contents of a backup or of a restored folder.
public struct BackupSummary: Sendable, Equatable {
  /// The number of accounts.
  public var accounts = 0
  /// The number of files of the accounts.
  public var files = 0
  /// The number of missing files that the tables name.
  public var missing = 0
  /// The size of the backup in bytes.
  public var bytes: Int64 = 0
}

extension ServerFolder {
  /// Writes a backup of the folder to a file, also while a server runs on it. `BackupFormat.md` specifies the file.
  /// - Throws: ``ServerError`` with `exists` if the file exists, with `damaged` if a file of the folder is missing;
  ///   `SQLError` with `busy` if a read uses a write-ahead log for more than a minute.
  @available(*, noasync, message: "copies files on the calling thread")
  public func backUp(to target: String) throws -> BackupSummary {
    let directory = try ServerDirectory(in: self)
    defer { directory.close() }
    let writer = try BackupWriter(at: target)
    do {
      var summary = BackupSummary()
      if !hasExternalKey { try writer.add("server.key", from: keyFile, size: Int64(Files.size(of: keyFile) ?? 0)) }
      try add(directory.database, Self.directoryFile, to: writer)
      // Read behind the copy, so that each account of the copy is among them.
      for account in try directory.accounts() {
        try add(account, to: writer, &summary)
        summary.accounts += 1
      }
      try writer.finish()
      summary.bytes = writer.byteCount
      try directory.note(.backedUp(accounts: summary.accounts, files: summary.files, bytes: summary.bytes))
      return summary
    } catch {
      try writer.cancel()
      throw error
    }
  }

  /// Adds a backup to a folder of backups, reads it again to verify it, and then removes the oldest ones. Other files of the folder stay.
  /// - Parameter count: the number of backups to keep, at least 1, the new one included.
  /// - Returns: the path and the contents of the new backup, and the paths of the removed ones.
  /// - Throws: as ``backUp(to:)``; ``ServerError`` with `damaged` if the disk does not return what was written. All older backups
  ///   stay in this case.
  @available(*, noasync, message: "copies files on the calling thread")
  public func backUp(
    into folder: String, keeping count: Int
  ) throws -> (file: String, summary: BackupSummary, removed: [String]) {
    try backUp(into: folder, keeping: count) { file in try BackupReader(file).readAll { _ in nil } }
  }

  @available(*, noasync, message: "copies files on the calling thread")
  func backUp(
    into folder: String, keeping count: Int, verify: (_ file: String) throws -> Void
  ) throws -> (file: String, summary: BackupSummary, removed: [String]) {
    let name = BackupSeries.name(at: environment.now)
    let summary = try backUp(to: "\(folder)/\(name)")
    try verify("\(folder)/\(name)")
    let surplus = BackupSeries.surplus(of: try Files.names(in: folder), keeping: count, newest: name)
    let removed = surplus.map { "\(folder)/\($0)" }
    for file in removed { try Files.removeTree(file) }
    if !removed.isEmpty { try Files.syncFolder(folder) }
    return ("\(folder)/\(name)", summary, removed)
  }

  private func add(_ account: AccountName, to writer: BackupWriter, _ summary: inout BackupSummary) throws {
    let records = try AccountDatabase.records.open(account.folder, in: self)
    defer { records.close() }
    try add(records, AccountDatabase.records.path(account.folder), to: writer)
    let files = try AccountDatabase.files.open(account.folder, in: self)
    defer { files.close() }
    try add(files, AccountDatabase.files.path(account.folder), to: writer)
    // Read behind the copy, so that each content of the copy is among them, unless it was removed meanwhile.
    let contents = try files.read {
      try $0.fetchRows("SELECT file, byteCount FROM Content", as: String.self, Int64.self)
    }
    for (file, size) in contents {
      let name = "accounts/\(account.folder)/files/\(file.suffix(2))/\(file)"
      guard let found = Files.size(of: path + "/" + name), Int64(found) == size else {
        summary.missing += 1
        continue
      }
      try writer.add(name, from: path + "/" + name, size: size)
      summary.files += 1
    }
  }

  private func add(_ database: Database, _ name: String, to writer: BackupWriter) throws {
    try withUnchangingFile(of: database) { path, bytes in try writer.add(name, from: path, size: Int64(bytes)) }
  }
}

/// The names of backups that are made one after the other in a folder, such as `fieldvault-20261127T080000Z.backup`.
enum BackupSeries {
  /// Returns the name of a backup.
  /// - Parameter time: in milliseconds since 1970-01-01 UTC.
  static func name(at time: Int64) -> String {
    let digits = TimestampText.text(time).prefix(19).filter { $0 != "-" && $0 != ":" }
    return "fieldvault-\(digits)Z.backup"
  }

  /// Returns the oldest backups of a folder beyond a number. The newest one stays even if the clock was set back before it.
  /// - Parameter names: all names of the folder.
  static func surplus(of names: [String], keeping count: Int, newest: String) -> [String] {
    let others = names.filter { isName($0) && $0 != newest }.sorted()
    return Array(others.dropLast(max(count, 1) - 1))
  }

  private static func isName(_ name: String) -> Bool {
    name.wholeMatch(of: /fieldvault-[0-9]{8}T[0-9]{6}Z\.backup/) != nil
  }
}
