import CCrypto
import Foundation
import Platform
import PostgresStorage
import TestSupport

/// A PostgreSQL server of a test: a child of this process in a temporary folder, reached through a socket there.
///
/// As root, the server runs as the user `postgres`, because it refuses root. It is no daemon, so that a test can kill it.
package final class PostgresServer: @unchecked Sendable {
  /// The folder of the socket and the data.
  package let folder: String
  private let settings: [String]
  // `@unchecked Sendable` holds because the lock guards the process.
  private let lock = NSLock()
  private var process: Process?
  private var lifeline: Pipe?
  private var poolerLifeline: Pipe?

  private static let binaries = "/usr/lib/postgresql/15/bin"

  /// Whether PostgreSQL 15 is installed.
  package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: binaries + "/postgres") }

  /// Creates a cluster and starts it.
  /// - Parameter settings: further settings, such as `lock_timeout=1s`.
  package init(_ settings: String...) throws {
    self.settings = settings
    folder = NSTemporaryDirectory() + "fieldvault-postgres-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try Self.run("/bin/chown", ["postgres", folder]) }
    chmod(folder, 0o711)
    try Self.runAsOwner("initdb", ["-U", "fv", "-A", "trust", "--no-sync", "-E", "UTF8", "-D", data])
    try start()
  }

  /// Copies the data of a running server as its standby and starts it.
  package init(standbyOf primary: PostgresServer, name: String) throws {
    settings = primary.settings
    folder = primary.folder + "-" + name
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try Self.run("/bin/chown", ["postgres", folder]) }
    chmod(folder, 0o711)
    try Self.runAsOwner(
      "pg_basebackup",
      [
        "-R", "-X", "stream", "-c", "fast", "-C", "-S", name, "-D", data, "-d",
        "host=\(primary.folder) user=fv application_name=\(name)",
      ])
    try start()
  }

  private var data: String { folder + "/data" }
  private var log: String { folder + "/log" }

  /// Returns the address of a database.
  package func url(_ database: String = "postgres") -> String { "host=\(folder) user=fv dbname=\(database)" }

  /// Starts the server, and waits until it accepts connections.
  package func start() throws {
    let (process, lifeline) = try Self.spawn(
      Self.asOwner(
        "postgres",
        [
          "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories=\(folder)", "-c", "fsync=off", "-c",
          "wal_level=replica", "-c", "max_wal_senders=4", "-c", "wal_retrieve_retry_interval=100ms", "-c",
          "max_connections=300", "-c", "shared_buffers=32MB",
        ] + settings.flatMap { ["-c", $0] }), log: log)
    lock.withLock { (self.process, self.lifeline) = (process, lifeline) }
    for _ in 0..<300 {
      if (try? Self.runAsOwner("pg_isready", ["-h", folder, "-U", "fv", "-d", "postgres", "-q"])) != nil { return }
      guard process.isRunning else { break }
      usleep(50_000)
    }
    throw Unexpected("PostgreSQL did not start: \((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
  }

  /// Starts a program that ends with this process.
  /// - Returns: the process of a shell around the program, and a pipe whose closed end lets the shell kill the program.
  private static func spawn(_ command: (URL, [String]), log: String) throws -> (Process, Pipe) {
    // The shell is bash, because dash waits for SIGCHLD, which the threads of this process block.
    let script = "exec 3<&0; \"$@\" </dev/null 3<&- & server=$!; (read line <&3; kill -KILL $server) & wait $server"
    let process = Process()
    (process.executableURL, process.arguments) = (
      URL(filePath: "/bin/bash"), ["-c", script, "bash", command.0.path] + command.1
    )
    if !FileManager.default.fileExists(atPath: log) { FileManager.default.createFile(atPath: log, contents: nil) }
    let output = try FileHandle(forWritingTo: URL(filePath: log))
    try output.seekToEnd()
    (process.standardOutput, process.standardError) = (output, output)
    let lifeline = Pipe()
    // A program that starts later must not hold the pipe open.
    _ = fcntl(lifeline.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    process.standardInput = lifeline
    process.currentDirectoryURL = URL(filePath: "/")
    try process.run()
    return (process, lifeline)
  }

  /// Whether PgBouncer is installed.
  package static var hasPooler: Bool { FileManager.default.isExecutableFile(atPath: pooler) }

  private static let pooler = "/usr/sbin/pgbouncer"

  /// Starts PgBouncer in transaction mode with a few connections, and returns the address of a database through it.
  package func startPooler(to database: String) throws -> String {
    let place = folder + "/pooler"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try """
    [databases]
    * = host=\(folder) user=fv
    [pgbouncer]
    pool_mode = transaction
    default_pool_size = 3
    max_client_conn = 200
    auth_type = any
    listen_addr =
    listen_port = 6432
    unix_socket_dir = \(place)
    """.write(toFile: place + "/pgbouncer.ini", atomically: true, encoding: .utf8)
    if getuid() == 0 { try Self.run("/bin/chown", ["-R", "postgres", place]) }
    let (process, lifeline) = try Self.spawn(Self.asOwner(Self.pooler, [place + "/pgbouncer.ini"]), log: place + "/log")
    lock.withLock { poolerLifeline = lifeline }
    for _ in 0..<200 {
      if FileManager.default.fileExists(atPath: place + "/.s.PGSQL.6432") {
        return "host=\(place) port=6432 user=fv dbname=\(database)"
      }
      guard process.isRunning else { break }
      usleep(50_000)
    }
    throw Unexpected("PgBouncer did not start: \((try? String(contentsOfFile: place + "/log", encoding: .utf8)) ?? "")")
  }

  /// The id of the server's main process.
  private var id: Int32? {
    let lines = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8)
    return lines?.split(separator: "\n").first.flatMap { Int32($0) }
  }

  /// Ends the server with a signal, and waits for its end. `SIGKILL` kills all its processes.
  package func kill(_ signal: Int32 = SIGKILL) {
    guard let process = lock.withLock({ self.process }), let id else { return }
    let children = (try? Self.run("/usr/bin/pgrep", ["-P", String(id)])) ?? ""
    Foundation.kill(id, signal)
    if signal == SIGKILL { for child in children.split(separator: "\n") { Foundation.kill(Int32(child) ?? 0, signal) } }
    // The process of Foundation ends with the last child of the shell, which waits for the pipe.
    try? lock.withLock { lifeline }?.fileHandleForWriting.close()
    process.waitUntilExit()
    lock.withLock { (self.process, self.lifeline) = (nil, nil) }
  }

  /// Sends a signal to the server and its processes, such as `SIGSTOP`.
  package func signalAll(_ signal: Int32) throws {
    guard let id else { return }
    let children = try Self.run("/usr/bin/pgrep", ["-P", String(id)]).split(separator: "\n").compactMap { Int32($0) }
    for process in [id] + children { Foundation.kill(process, signal) }
  }

  /// Makes the standby a primary.
  package func promote() throws {
    try Self.runAsOwner("pg_ctl", ["promote", "-D", data, "-w", "-s"])
  }

  /// Runs SQL in the client of PostgreSQL, and returns its output without decoration.
  @discardableResult
  package func sql(_ text: String, database: String = "postgres") throws -> String {
    try Self.runAsOwner(
      "psql", ["-h", folder, "-U", "fv", "-d", database, "-AtqX", "-v", "ON_ERROR_STOP=1", "-c", text])
  }

  /// Returns a dump of a database.
  package func dumpText(_ database: String) throws -> String {
    try Self.run(Self.binaries + "/pg_dump", ["-h", folder, "-U", "fv", "-d", database])
  }

  /// Writes a dump of a database to nowhere.
  package func dump(_ database: String) throws {
    _ = try Self.run(Self.binaries + "/pg_dump", ["-h", folder, "-U", "fv", "-d", database, "-f", "/dev/null"])
  }

  /// Runs pgbench with the settings of a node's session, and returns its output.
  package func pgbench(_ options: [String], database: String) throws -> String {
    let settings = PostgresSettings.planning.map { "-c \($0.name)=\($0.value)" }.joined(separator: " ")
    return try Self.run(
      Self.binaries + "/pgbench", options + ["host=\(folder) user=fv dbname=\(database) options='\(settings)'"])
  }

  /// The CPU time of the server and its processes so far, in seconds.
  package func processorTime() throws -> Double {
    guard let id else { throw Unexpected("the server does not run") }
    let children = try Self.run("/usr/bin/pgrep", ["-P", String(id)]).split(separator: "\n").compactMap { Int32($0) }
    // Those of ended children are the server's third and fourth times; see proc(5).
    let times = try [(id, 11...14)] + children.map { ($0, 11...12) }
    return try times.reduce(0) { sum, process in
      // A session may end meanwhile.
      guard let stat = try? String(contentsOfFile: "/proc/\(process.0)/stat", encoding: .utf8) else { return sum }
      let words = stat.split(separator: ")").last?.split(separator: " ").map(String.init) ?? []
      // The words after the name begin with the third one.
      return sum + process.1.reduce(0.0) { $0 + (Double(words[$1]) ?? 0) } / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }

  /// Creates a database with a name that no other test uses.
  package func makeDatabase() throws -> String {
    let name = "t" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
    try sql("CREATE DATABASE \(name)")
    return name
  }

  /// Stops the server and removes its folder.
  package func remove() {
    try? lock.withLock { poolerLifeline }?.fileHandleForWriting.close()
    kill(SIGQUIT)
    try? FileManager.default.removeItem(atPath: folder)
  }

  deinit { remove() }

  private static func asOwner(_ program: String, _ arguments: [String]) -> (URL, [String]) {
    let path = program.hasPrefix("/") ? program : binaries + "/" + program
    guard getuid() == 0 else { return (URL(filePath: path), arguments) }
    return (
      URL(filePath: "/usr/bin/setpriv"),
      ["--reuid=postgres", "--regid=postgres", "--init-groups", path] + arguments
    )
  }

  @discardableResult
  private static func runAsOwner(_ program: String, _ arguments: [String]) throws -> String {
    let (url, all) = asOwner(program, arguments)
    return try run(url.path, all)
  }

  @discardableResult
  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    (process.executableURL, process.arguments) = (URL(filePath: program), arguments)
    let (output, errors) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, errors)
    process.currentDirectoryURL = URL(filePath: "/")
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    let problems = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Unexpected("\(program): \(String(decoding: problems, as: UTF8.self))")
    }
    return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// The server that the tests of this process share. Each test has a database of its own.
package enum SharedPostgres {
  private static let started = Result { try PostgresServer() }
  private static let removal: Void = {
    // libcrypto cleans up at exit as well. Its handler must run after this one, which takes a while, because threads of servers that
    // still run use libcrypto.
    _ = OPENSSL_init_crypto(0, nil)
    atexit { (try? SharedPostgres.started.get())?.remove() }
  }()

  /// The server, which ends with this process.
  /// - Throws: ``Unexpected`` without PostgreSQL.
  package static var server: PostgresServer {
    get throws {
      _ = removal
      return try started.get()
    }
  }
}

/// The engine of the servers of tests: the environment variable `FIELDVAULT_TEST_ENGINE`, which is `postgresql` or absent.
package enum TestEngine {
  /// Whether servers store records in PostgreSQL.
  package static let isPostgres = ProcessInfo.processInfo.environment["FIELDVAULT_TEST_ENGINE"] == "postgresql"

  /// Returns the database of a server's folder, which is created at first; `nil` for a server with embedded databases.
  package static func database(of folder: String, _ environment: Environment) throws -> PostgresDatabase? {
    guard isPostgres else { return nil }
    let server = try SharedPostgres.server
    let note = folder + "/database"
    if !FileManager.default.fileExists(atPath: note) {
      try server.makeDatabase().write(toFile: note, atomically: true, encoding: .utf8)
    }
    var settings = PostgresSettings(url: server.url(try String(contentsOfFile: note, encoding: .utf8)))
    settings.connections = 4
    return try PostgresDatabase(settings, environment: environment)
  }
}
