import CipherSQL
import ServerStorage

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A database of each account. It is created with the account, and afterwards only opened.
package struct AccountDatabase: Sendable {
  /// The database of the records and of the server's own tables.
  package static let records = AccountDatabase(
    fileName: "records.db", keyName: "account", readers: 4, schema: BookkeepingSchema.schema)

  /// The file name in the folder of the account.
  package let fileName: String
  /// The name from which the key is derived, together with the account.
  private let keyName: String
  private let readers: Int
  let schema: Schema
  /// Whether version 0.1 created the database at its first use, and not with the account.
  fileprivate let wasMadeAtFirstUse: Bool

  package init(fileName: String, keyName: String, readers: Int, schema: Schema, wasMadeAtFirstUse: Bool = false) {
    (self.fileName, self.keyName, self.readers, self.schema) = (fileName, keyName, readers, schema)
    self.wasMadeAtFirstUse = wasMadeAtFirstUse
  }

  /// Returns the path in the folder of the server.
  package func path(_ account: String) -> String { "accounts/\(account)/\(fileName)" }

  /// Returns the name from which the key of an account's database is derived.
  package func keyName(_ account: String) -> String { "\(keyName) \(account)" }

  /// The time that a stopping server waits for open transactions. Transactions of jobs take about 50 ms, a push a few
  /// seconds at most.
  package static let closeLimit = Duration.seconds(10)

  package func open(_ account: String, in folder: ServerFolder) throws -> Database {
    try folder.openDatabase(path(account), keyName: keyName(account), readers: readers)
  }

  /// Makes a store over an open database, which is closed if that fails.
  /// - Parameter make: receives the path of the database and the identity of its file.
  /// - Throws: the error of `make`; ``ServerError`` with `damaged` for an unreadable or missing file.
  package func store<Store>(
    over database: Database, of account: String, in folder: ServerFolder, _ make: (String, FileIdentity) throws -> Store
  ) throws -> Store {
    let path = "\(folder.path)/\(path(account))"
    do {
      return try make(path, FileIdentity(path))
    } catch let error as SQLError where error.isOfDamage {
      database.close()
      throw ServerFolder.damage(path, error)
    } catch {
      database.close()
      throw error
    }
  }

  fileprivate func make(_ account: String, in folder: ServerFolder) throws {
    try folder.makeDatabase(path(account), keyName: keyName(account)) { database in
      try Migrator(schemas: [schema]).apply(to: database)
    }
  }
}

extension ServerFolder {
  /// Creates the folder and the databases of a new account, before the directory names it.
  package func makeAccount(_ account: String) throws {
    var parent = path
    for name in ["accounts", account] {
      let above = parent
      parent += "/" + name
      if !Files.exists(parent) { try Files.makeFolder(parent) }
      // The content of a folder is only as durable as the folder's own name.
      try Files.syncFolder(above)
    }
    for database in databases where !Files.exists(path + "/" + database.path(account)) {
      try database.make(account, in: self)
    }
  }

  /// Creates the databases that version 0.1 created at the first use: all of an unused account, and the table of its
  /// files.
  func completeAccount(_ account: String) throws {
    let folder = "\(path)/accounts/\(account)"
    if !Files.exists(folder) { return try makeAccount(account) }
    for database in databases where database.wasMadeAtFirstUse && !Files.exists(path + "/" + database.path(account)) {
      try database.make(account, in: self)
    }
  }
}

/// Returns whether an open file still exists under its name. Writes to a file that was removed, replaced or truncated
/// are lost, although every call succeeds.
package final class FileIdentity: Sendable {
  private let path: String
  private let device: UInt64
  private let number: UInt64
  /// The largest known size; a database never shrinks.
  private let size: Locked<Int64>

  package init(_ path: String) throws {
    guard let found = Self.look(path) else {
      throw ServerError(.damaged, "\(path) is missing or empty", remedy: .putFileBackOrRestoreBackup)
    }
    (self.path, device, number, size) = (path, found.device, found.number, Locked(found.size))
  }

  /// - Throws: ``ServerError`` with `damaged` if the file is missing, shorter or another file.
  package func check() throws {
    let isWhole = size.withLock { size in
      guard let found = Self.look(path), found.device == device, found.number == number, found.size >= size else {
        return false
      }
      size = found.size
      return true
    }
    guard isWhole else {
      throw ServerError(
        .damaged, "\(path) was removed, replaced or truncated while the server was running",
        hint: "put the file back, or stop the server and restore the folder from a backup")
    }
  }

  private static func look(_ path: String) -> (device: UInt64, number: UInt64, size: Int64)? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size > 0 else { return nil }
    return (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
  }
}
