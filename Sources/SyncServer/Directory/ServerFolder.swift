import CipherSQL
import OfflineStore

/// Where a server keeps everything:
///
/// ```
/// DIR/                      mode 0700, files 0600
///   server.key              the secret of all databases, unless another file holds it
///   directory.db            accounts, members, hashes of tokens
///   accounts/OPAQUE/records.db   the records of one account
///   accounts/OPAQUE/files.db     what files the account has, and files/ with the files themselves
///   lock                    held for a moment while databases are made or migrated
///   serving                 held while a server runs
/// ```
public struct ServerFolder: Sendable {
  /// The folder.
  public let path: String
  let key: ServerKey

  /// Opens the folder.
  /// - Parameters:
  ///   - keyFile: holds the secret; `server.key` in the folder when nil.
  ///   - isCreating: makes what is missing.
  /// - Throws: ``ServerError`` with `noData` when nothing is there and nothing is to be made; `KeyError`; `VaultError`.
  public init(_ path: String, keyFile: String? = nil, isCreating: Bool) throws {
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    if isCreating, !Files.exists(self.path) {
      try Files.makeFolder(self.path)
      try Files.syncFolder(VaultLayout.parent(of: self.path))
    }
    guard Files.isFolder(self.path), isCreating || Files.exists(self.path + "/directory.db") else {
      throw ServerError(
        .noData, "\(path) holds no data of a server", hint: "fieldvault-server user add NAME --data \(path) makes it")
    }
    let lock = try FolderLock.waiting(self.path + "/lock")
    defer { withExtendedLifetime(lock) {} }
    key = try ServerKey(folder: self.path, file: keyFile, isCreating: isCreating)
  }

  /// Holds the folder for one server.
  /// - Throws: ``ServerError`` with `busy`.
  func holdForServing() throws(ServerError) -> FolderLock {
    guard let lock = try FolderLock.ifFree(path + "/serving") else {
      throw ServerError(.busy, "another server runs on \(path)", hint: "stop it, or choose another folder")
    }
    return lock
  }

  /// Opens a database of the folder, making it when it is missing.
  package func openDatabase(_ file: String, keyName: String, readers: Int) throws -> Database {
    var parent = path
    for part in file.split(separator: "/").dropLast() {
      let above = parent
      parent += "/" + part
      if !Files.exists(parent) { try Files.makeFolder(parent) }
      // What stands in a folder is as durable as the folder's own name.
      try Files.syncFolder(above)
    }
    let target = path + "/" + file
    if !Files.exists(target) { try Files.makeFile(target) }
    var configuration = Configuration()
    configuration.readerCount = readers
    // A server has many databases open, each with several connections.
    configuration.pageCacheBytes = 8 << 20
    do {
      return try Database(path: target, key: try key.databaseKey(keyName), configuration: configuration)
    } catch let error as SQLError where error.code == .notADatabase {
      throw ServerError(
        .wrongKey, "the key does not open \(target)", hint: "name the key file that it was made with: --key-file FILE")
    }
  }
}
