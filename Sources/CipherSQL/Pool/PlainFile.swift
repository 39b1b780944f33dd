import CSQLCipher

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A database file of another program, which is not encrypted, opened for reading. It is the only file that a connection
/// opens without a key, and no connection writes to it.
///
/// The file, its journal and its write-ahead log keep their bytes, and no file appears beside them. The committed
/// content of a log counts. A program that has the file open can continue. Triggers and views of the file are never
/// used, and functions with side effects are refused.
public final class PlainFile {
  /// The protection of the read snapshot against other programs.
  enum Access {
    /// SQLite's locks. Programs wait before they write.
    case locked
    /// A log with its index, from a program that runs or was killed. SQLite's locks apply.
    case indexedLog
    /// A log without its index, such as in a copy. No program has the file open, and the index is built in memory.
    case log
    /// A file whose last program has merged the log. No program has the file open.
    case unused
  }

  /// The path without symbolic links.
  public let path: String
  /// The connection. Its reads belong into the closure of ``read(_:)``.
  private let connection: Connection
  private let access: Access
  private let states: [State?]

  /// Opens a file.
  /// - Throws: ``SQLError`` with `cannotOpen` for a path that is no file, `notADatabase` for another kind of file or an
  ///   encrypted one, `readOnly` for a file whose last transaction was interrupted.
  public init(path: String) throws {
    let resolved = try Self.resolve(path)
    let header = try Self.header(of: resolved, named: path)
    guard Self.isMissing(resolved + "-wal") else {
      access = Self.isMissing(resolved + "-shm") ? .log : .indexedLog
      (self.path, states) = (resolved, Self.states(of: resolved))
      connection = try Self.connection(to: resolved, access)
      return
    }
    // Bytes 18 and 19 are 2 if the file is written through a log.
    access = header[18] == 2 && header[19] == 2 ? .unused : .locked
    // SQLite looks for an interrupted transaction itself, if it may lock the file.
    if access == .unused, Self.size(of: resolved + "-journal") ?? 0 > 0 { throw Self.interrupted(path) }
    (self.path, states) = (resolved, Self.states(of: resolved))
    connection = try Self.connection(to: resolved, access)
  }

  /// Runs a closure whose reads all see one state of the file.
  /// - Throws: ``SQLError``; the errors of the closure.
  public func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
    try connection.inSnapshot(body)
  }

  /// Checks that no program has written to a file that is read without locks. Results that are stored need the check
  /// first.
  /// - Throws: ``SQLError`` with `busy`.
  public func checkUnchanged() throws {
    guard access == .log || access == .unused, Self.states(of: path) != states else { return }
    throw SQLError(.busy, "another program changed \(path) while it was read", hint: "try again")
  }

  private static func connection(to path: String, _ access: Access) throws -> Connection {
    var configuration = Configuration()
    configuration.isReadOnly = true
    configuration.pageCacheBytes = 8 << 20
    configuration.plainFileAccess = access
    do {
      let connection = try Connection(path: path, key: nil, configuration: configuration)
      // Finds an interrupted transaction.
      _ = try connection.pragmaText("SELECT count(*) FROM sqlite_schema")
      return connection
    } catch let error as SQLError where error.code == .readOnly {
      throw interrupted(path)
    }
  }

  // MARK: Files

  private static func resolve(_ path: String) throws(SQLError) -> String {
    guard let resolved = realpath(path, nil) else { throw cannotRead(path, String(cString: strerror(errno))) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Reads the first 100 bytes.
  private static func header(of path: String, named name: String) throws(SQLError) -> [UInt8] {
    var status = stat()
    guard stat(path, &status) == 0 else { throw cannotRead(name, String(cString: strerror(errno))) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw cannotRead(name, "it is a folder")
    default: throw cannotRead(name, "it is not a regular file")
    }
    guard let file = fopen(path, "re") else { throw cannotRead(name, String(cString: strerror(errno))) }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = fread(&bytes, 1, bytes.count, file)
    guard count == bytes.count, bytes.starts(with: Array("SQLite format 3".utf8) + [0]) else {
      throw SQLError(
        .notADatabase, count == 0 ? "\(name) is empty" : "\(name) is not an SQLite database, or it is encrypted",
        hint: "decrypt a copy with its program, or in the sqlcipher shell: PRAGMA key = '...'; "
          + "ATTACH 'plain.db' AS plain KEY ''; SELECT sqlcipher_export('plain');")
    }
    return bytes
  }

  private static func cannotRead(_ path: String, _ reason: String) -> SQLError {
    SQLError(.cannotOpen, "cannot read \(path): \(reason)", hint: "give the path of a database file")
  }

  private static func interrupted(_ path: String) -> SQLError {
    SQLError(
      .readOnly, "the last transaction in \(path) was interrupted, and only a program that writes can undo it",
      hint: "open the file once with its program, or open a copy of the file and its journal in the sqlite3 shell")
  }

  private static func isMissing(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 && errno == ENOENT
  }

  private static func size(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  private struct State: Equatable {
    let (file, size, seconds, nanoseconds): (UInt64, Int64, Int, Int)
  }

  /// The states of the database file and its log; `nil` for a missing one.
  private static func states(of path: String) -> [State?] {
    [path, path + "-wal"].map { path in
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      #if canImport(Darwin)
        let time = status.st_mtimespec
      #else
        let time = status.st_mtim
      #endif
      return State(
        file: UInt64(status.st_ino), size: Int64(status.st_size), seconds: Int(time.tv_sec), nanoseconds: time.tv_nsec)
    }
  }
}

extension PlainFile.Access {
  /// Returns the URI by which SQLite opens an absolute path; see https://sqlite.org/uri.html.
  func address(of path: String) -> String {
    let plain = Set("/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = path.utf8.flatMap { plain.contains($0) ? [$0] : [0x25, digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    let query =
      switch self {
      case .locked: ""
      case .indexedLog: "?readonly_shm=1"
      // Without locks, because a lock for an index in memory needs write access.
      case .log: "?vfs=unix-none"
      case .unused: "?immutable=1"
      }
    return "file:" + String(decoding: bytes, as: UTF8.self) + query
  }
}

extension Connection {
  /// The largest text or blob of a file of another program, in bytes. It limits the memory that a generated column of a
  /// hostile file takes.
  private static let largestPlainValue: Int32 = 64 << 20

  /// Must be called before the file is accessed.
  final func prepareForPlainFile(_ access: PlainFile.Access) throws(SQLError) {
    if access == .log { try pragma("PRAGMA locking_mode = EXCLUSIVE") }
    var result = csqlcipher_disable_checkpoint_on_close(handle)
    if result == SQLITE_OK { result = csqlcipher_disable_triggers_and_views(handle) }
    guard result == SQLITE_OK else { throw SQLError.last(handle, result: result) }
    try pragma("PRAGMA query_only = ON")
    try pragma("PRAGMA cell_size_check = ON")
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, Self.largestPlainValue)
  }
}
