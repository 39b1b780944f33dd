import CipherSQL
import Platform
import ServerStorage

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
  /// The key in the folder; nil when another file holds it.
  package let keyPath: String?
  /// The databases of an account, beside the directory.
  package let databases: [AccountDatabase]
  /// The clock and the random source of the server: of its databases, its files and its connections. Keys and tokens
  /// come from libsodium in any case.
  package var environment = Environment.system

  /// Opens the folder.
  ///
  /// Only a folder without any data is set up. Data without its key or its directory is damaged, and nothing is made in
  /// place of a missing file.
  /// - Parameters:
  ///   - keyFile: holds the secret; `server.key` in the folder when nil.
  ///   - isCreating: sets up a folder that holds no data.
  ///   - databases: the databases that every account has.
  /// - Throws: ``ServerError`` with `noData` when the folder holds no data and is not to be set up, with `wrongKey` when the
  ///   key file is missing, with `damaged` when the directory is missing or empty; `KeyError`; `VaultError`.
  package init(_ path: String, keyFile: String?, isCreating: Bool, databases: [AccountDatabase]) throws {
    self.databases = databases
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    if isCreating, !Files.exists(self.path) {
      try Files.makeFolder(self.path)
      try Files.syncFolder(Files.parent(of: self.path))
    }
    let directory = self.path + "/" + Self.directoryFile
    let hasAccounts = try Self.hasAccounts(self.path)
    guard Files.isFolder(self.path), isCreating || hasAccounts || Files.exists(directory) else {
      throw ServerError(
        .noData, "\(path) holds no data of a server", remedy: .addFirstUser(folder: path))
    }
    let lock = try Self.lockForMaking(self.path)
    defer { withExtendedLifetime(lock) {} }
    if Files.size(of: directory) == 0 || hasAccounts && !Files.exists(directory) {
      throw ServerError(
        .damaged, "\(directory) is missing or empty, and so are the users and their tokens",
        remedy: .restoreBackup)
    }
    if keyFile == nil, Files.exists(directory), !Files.exists(self.path + "/server.key") {
      throw ServerError(
        .wrongKey, "\(self.path)/server.key is missing, and nothing else opens the data",
        remedy: .putKeyBackOrNameCopy)
    }
    keyPath = keyFile == nil ? self.path + "/server.key" : nil
    key = try ServerKey(folder: self.path, file: keyFile, isCreating: isCreating && !Files.exists(directory))
  }

  /// Keeps other processes from making or migrating databases of the folder.
  func lockForMaking() throws(ServerError) -> FolderLock { try Self.lockForMaking(path) }

  private static func lockForMaking(_ path: String) throws(ServerError) -> FolderLock {
    try FolderLock.waiting(path + "/lock")
  }

  package static let directoryFile = "directory.db"

  private static func hasAccounts(_ path: String) throws -> Bool {
    let accounts = path + "/accounts"
    return Files.isFolder(accounts) ? try !Files.names(in: accounts).isEmpty : false
  }

  /// Holds the folder for one server.
  /// - Throws: ``ServerError`` with `busy`.
  package func holdForServing() throws(ServerError) -> FolderLock {
    guard let lock = try FolderLock.ifFree(path + "/serving") else {
      throw ServerError(.busy, "another server runs on \(path)", hint: "stop it, or choose another folder")
    }
    return lock
  }

  /// Opens a database of the folder. Never makes one: an empty database in place of a lost one would tell devices that
  /// all of their records were deleted.
  /// - Throws: ``ServerError`` with `damaged` when the file is missing, empty or cannot be read, with `wrongKey` for the
  ///   directory when the key does not open it.
  package func openDatabase(_ file: String, keyName: String, readers: Int) throws -> Database {
    let target = path + "/" + file
    guard let size = Files.size(of: target), size > 0 else {
      throw ServerError(.damaged, "\(target) is missing or empty", remedy: .putFileBackOrRestoreBackup)
    }
    do {
      return try connect(target, keyName, readers)
    } catch let error as SQLError where error.code == .notADatabase && file == Self.directoryFile {
      throw ServerError(
        .wrongKey, "the key does not open \(target)", remedy: .nameKeyFile)
    } catch let error as SQLError where error.isOfDamage {
      throw Self.damage(target, error)
    }
  }

  /// Creates a missing database with its tables. It appears under its name when it is complete.
  func makeDatabase(_ file: String, keyName: String, _ fill: (Database) throws -> Void) throws {
    let target = path + "/" + file
    let draft = target + ".new"
    // A draft that a crash left behind was never used.
    for name in [draft, draft + "-wal", draft + "-shm"] { try Files.removeTree(name) }
    try Files.makeFile(draft)
    let database = try connect(draft, keyName, 1)
    do {
      try fill(database)
      try database.withUnchangingFile { path, _ in try Files.syncFile(path) }
    } catch {
      database.close()
      throw error
    }
    database.close()
    try Files.rename(draft, to: target)
    try Files.syncFolder(Files.parent(of: target))
  }

  private func connect(_ target: String, _ keyName: String, _ readers: Int) throws -> Database {
    var configuration = Configuration(environment: environment)
    configuration.readerCount = readers
    // A server has many databases open, each with several connections.
    configuration.pageCacheBytes = 8 << 20
    return try Database(path: target, key: try key.databaseKey(keyName), configuration: configuration)
  }

  /// The error for a database of an account or a directory that cannot be read.
  package static func damage(_ target: String, _ error: any Error) -> ServerError {
    ServerError(.damaged, "\(target) cannot be read: \(error)", remedy: .putFileBackOrRestoreBackup)
  }
}

extension SQLError {
  /// Whether the content of a file is damaged or under another key.
  package var isOfDamage: Bool { [.notADatabase, .damaged].contains(code) }
}
