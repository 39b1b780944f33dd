import Foundation
import SyncServer

/// The program `fieldvault-server` as a process of its own, on data that are filled before.
final class ServerProcess {
  let url: String
  private let process = Process()

  /// - Parameters:
  ///   - folder: the server's data.
  ///   - times: measures its write transactions.
  ///   - build: the build of the program.
  convenience init(folder: String, times: WriteTimes? = nil, build: ProgramBuild = .own) throws {
    try self.init(["--data", folder], times, build)
  }

  /// - Parameter requestLog: an open file that receives a JSON line for each request.
  convenience init(folder: String, requestLog: FileHandle) throws {
    try self.init(["--data", folder, "--log-format", "json"], requestLog: requestLog)
  }

  /// A node on PostgreSQL.
  /// - Parameter folder: receives the key of an object store that no request reaches.
  convenience init(database: String, in folder: String) throws {
    let key = folder + "/s3.key"
    try "AKIDEXAMPLE\nwJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\n".write(toFile: key, atomically: true, encoding: .utf8)
    chmod(key, 0o600)
    try self.init([
      "--database", database, "--max-connections", "6000", "--max-connections-per-address", "6000", "--max-waiting",
      "8000",
      "--max-waiting-per-user", "200", "--s3-endpoint", "https://127.0.0.1:9", "--s3-bucket", "photos",
      "--s3-credentials", key,
    ])
  }

  private init(
    _ options: [String], _ times: WriteTimes? = nil, _ build: ProgramBuild = .own, requestLog: FileHandle? = nil
  ) throws {
    let program = build.folder + "/fieldvault-server"
    guard FileManager.default.fileExists(atPath: program) else {
      throw BenchmarkFailure("\(program) is missing; scripts/bench builds it")
    }
    let output = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments =
      ["serve", "--listen", "127.0.0.1:0", "--schema", "restoration", "--rate", "1000000"]
      + (requestLog == nil ? ["--quiet"] : []) + options
    if let requestLog { process.standardError = requestLog }
    process.environment = try times?.environment()
    process.standardOutput = output
    try process.run()
    var line = ""
    while !line.hasSuffix("\n") {
      let part = output.fileHandleForReading.availableData
      guard !part.isEmpty else { throw BenchmarkFailure("the server does not start") }
      line += String(decoding: part, as: UTF8.self)
    }
    guard let url = line.split(whereSeparator: \.isWhitespace).last else {
      throw BenchmarkFailure("the server does not say where it listens")
    }
    self.url = String(url)
  }

  /// The CPU time of the server so far, in seconds.
  func processorTime() throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(process.processIdentifier, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw BenchmarkFailure("the server has no CPU clock")
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The memory of the server now, in bytes.
  func memory() throws -> Int {
    let path = "/proc/\(process.processIdentifier)/statm"
    let words = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ")
    guard words.count > 1, let pages = Int(words[1]) else { throw BenchmarkFailure("\(path) has no size") }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }
}

/// The program that runs.
enum Programs {
  static let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
}
