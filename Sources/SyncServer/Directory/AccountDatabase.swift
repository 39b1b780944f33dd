import CipherSQL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The databases of an account. Both are made when the account is made; from then on they are only opened.
enum AccountDatabase: CaseIterable {
  /// The records and the server's own tables.
  case records
  /// The uploads and contents.
  case files

  /// Its path in the folder of the server.
  func path(_ account: String) -> String { "accounts/\(account)/\(self == .records ? "records.db" : "files.db")" }

  /// From which its key is derived.
  func keyName(_ account: String) -> String { "\(self == .records ? "account" : "files") \(account)" }

  /// How long the end of the server waits for transactions under way. Those of jobs take some 50 ms, a push some seconds at
  /// most.
  static let closeLimit = Duration.seconds(10)

  private var schema: Schema { self == .records ? BookkeepingSchema.schema : FileSchema.schema }
  private var readers: Int { self == .records ? 4 : 2 }

  func open(_ account: String, in folder: ServerFolder) throws -> Database {
    try folder.openDatabase(path(account), keyName: keyName(account), readers: readers)
  }

  fileprivate func make(_ account: String, in folder: ServerFolder) throws {
    try folder.makeDatabase(path(account), keyName: keyName(account)) { database in
      try Migrator(schemas: [schema]).apply(to: database)
    }
  }
}

extension ServerFolder {
  /// Makes the folder and the databases of a new account, before the directory names it.
  package func makeAccount(_ account: String) throws {
    var parent = path
    for name in ["accounts", account] {
      let above = parent
      parent += "/" + name
      if !Files.exists(parent) { try Files.makeFolder(parent) }
      // The content of a folder is only as durable as the folder's own name.
      try Files.syncFolder(above)
    }
    for database in AccountDatabase.allCases where !Files.exists(path + "/" + database.path(account)) {
      try database.make(account, in: self)
    }
  }

  /// Creates the databases that version 0.1 created at the first use: all of an unused account, and the table of its
  /// files.
  func completeAccount(_ account: String) throws {
    let folder = "\(path)/accounts/\(account)"
    if !Files.exists(folder) { return try makeAccount(account) }
    if !Files.exists(path + "/" + AccountDatabase.files.path(account)) {
      try AccountDatabase.files.make(account, in: self)
    }
  }
}

/// Returns whether an open file still exists under its name. Writes to a file that was removed, replaced or truncated
/// are lost, although every call succeeds.
final class FileIdentity: Sendable {
  private let path: String
  private let device: UInt64
  private let number: UInt64
  /// The largest size seen; a database never shrinks.
  private let size: Locked<Int64>

  init(_ path: String) throws {
    guard let found = Self.look(path) else {
      throw ServerError(.damaged, "\(path) is missing or empty", hint: ServerFolder.damageHint)
    }
    (self.path, device, number, size) = (path, found.device, found.number, Locked(found.size))
  }

  /// - Throws: ``ServerError`` with `damaged` when the name leads to nothing, to a shorter file or to another one.
  func check() throws {
    let isWhole = size.withLock { size in
      guard let found = Self.look(path), found.device == device, found.number == number, found.size >= size else {
        return false
      }
      size = found.size
      return true
    }
    guard isWhole else {
      throw ServerError(
        .damaged, "\(path) was removed, replaced or cut short while the server runs",
        hint: "put the file back, or stop the server and make the folder anew from a backup")
    }
  }

  private static func look(_ path: String) -> (device: UInt64, number: UInt64, size: Int64)? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size > 0 else { return nil }
    return (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
  }
}
