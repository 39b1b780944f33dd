import Foundation

/// The programs of one build, used as a user does, so that builds of different versions can be compared.
struct ProgramBuild {
  /// The folder of `fieldvault` and `fieldvault-server`.
  let folder: String

  /// This build.
  static let own = ProgramBuild(folder: URL(filePath: Programs.own).deletingLastPathComponent().path)

  /// The build of commit `8564a16` that `scripts/bench` makes from the history of the repository; `nil` without that commit.
  static let baseline: ProgramBuild? = {
    guard let folder = ProcessInfo.processInfo.environment["FIELDVAULT_BASELINE"], !folder.isEmpty else { return nil }
    return ProgramBuild(folder: folder)
  }()

  /// Runs a program to its end, and returns its JSON object, its output and its CPU time in seconds.
  func run(
    _ program: String, _ words: [String], _ environment: [String: String] = [:]
  ) throws -> (json: [String: Any], output: String, processorSeconds: Double) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "\(folder)/\(program)")
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = output
    let before = try Self.processorTimeOfChildren()
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchmarkFailure("\(program) \(words.joined(separator: " ")) ended with \(process.terminationStatus)")
    }
    let json = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
    return (json ?? [:], String(decoding: data, as: UTF8.self), try Self.processorTimeOfChildren() - before)
  }

  /// The CPU time of the processes that have ended, in seconds. A running server does not count.
  private static func processorTimeOfChildren() throws -> Double {
    var usage = rusage()
    guard getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage) == 0 else {
      throw BenchmarkFailure("the CPU time of ended processes cannot be read")
    }
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// A vault of this build that syncs with a server.
  struct Device {
    let build: ProgramBuild
    private let environment: [String: String]

    init(_ build: ProgramBuild, _ name: String, in folder: String, server: String) throws {
      self.build = build
      let passphrase = folder + "/passphrase"
      try "correct horse battery staple\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
      environment = ["FIELDVAULT_VAULT": "\(folder)/\(name).vault", "FIELDVAULT_PASSPHRASE_FILE": passphrase]
      _ = try run("init", "--schema", "restoration", "--quiet")
      _ = try run("remote", "set", server, "--token-file", folder + "/token", "--quiet")
    }

    @discardableResult
    func run(_ words: String...) throws -> (json: [String: Any], output: String, processorSeconds: Double) {
      try build.run("fieldvault", words, environment)
    }

    /// Creates a record and returns its UUID.
    func put(_ words: String...) throws -> String {
      let output = try build.run("fieldvault", ["put"] + words, environment).output
      guard let uuid = output.split(whereSeparator: \.isWhitespace).last else {
        throw BenchmarkFailure("put does not print a UUID")
      }
      return String(uuid)
    }

    /// Syncs, and returns a number of the report and the CPU time without that of opening the vault.
    func sync(_ count: String) throws -> (count: Int, processorSeconds: Double) {
      let opening = try run("status", "--json").processorSeconds
      let result = try run("sync", "--quiet", "--json")
      guard let count = result.json[count] as? Int, count > 0 else {
        throw BenchmarkFailure("the round failed: \(result.output)")
      }
      return (count, result.processorSeconds - opening)
    }
  }
}
