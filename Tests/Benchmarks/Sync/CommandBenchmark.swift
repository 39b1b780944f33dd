import Foundation
import VaultStore

/// Commands of `fieldvault`, each a process of its own, on vaults with nothing, with records that the server has, and with ten times
/// as many. The outboxes have a completed operation for each record.
struct CommandBenchmark {
  let folder: String
  let rounds: Int
  let count: Int

  private struct Side {
    let vault: String
    var times: [String: [Double]] = [:]

    func time(of command: String) -> Double { median(times[command] ?? []) }
  }

  private static let commands = ["doctor", "status", "sync", "list AtmosphericLog", "list AtmosphericLog --json"]

  func findings() async throws -> [Finding] {
    let data = folder + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    try Data(BenchmarkVault.keyFile).write(to: URL(filePath: folder + "/key"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/key")
    let counts = [0, count / 10, count]
    var tokens: [String] = []
    for count in counts {
      let name = "of-\(count)"
      tokens.append(
        try await count == 0
          ? ServerFilling.addUser(name, in: data) : ServerFilling.fill(name, readings: count, in: data).token)
    }
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    var sides: [Side] = []
    for (count, token) in zip(counts, tokens) {
      let vault = try BenchmarkVault.make(folder + "/\(count).vault")
      let report = try await BenchmarkVault.worker(vault, Access(url: server.url, token: token)).worker.sync()
      guard report.outcome == .done else { throw BenchmarkFailure("the round failed: \(report)") }
      try BenchmarkVault.addCompleted(to: vault)
      vault.close()
      sides.append(Side(vault: folder + "/\(count).vault"))
    }
    // The first round fills the caches.
    for round in -1..<rounds {
      for command in Self.commands {
        for index in sides.indices {
          let time = try run(command, on: sides[index].vault)
          if round >= 0 { sides[index].times[command, default: []].append(time) }
        }
      }
    }
    let doctor = line("doctor", sides)
    let table = sides[2].time(of: "list AtmosphericLog") / sides[2].time(of: "list AtmosphericLog --json")
    return [
      Finding("\(doctor.text) (promised: less than 2 s of the largest)", holds: sides[2].time(of: "doctor") < 2),
      flat("status", sides), flat("sync", sides),
      Finding(line("list AtmosphericLog --json", sides).text, holds: nil),
      Finding(
        "\(line("list AtmosphericLog", sides).text); ratio of the table to JSON \(format(table, 2)) (promised: at most 1.5)",
        holds: table <= 1.5),
    ]
  }

  /// The CPU time of a command, against that of an empty vault.
  private func line(_ command: String, _ sides: [Side]) -> (text: String, ratio: Double) {
    let times = sides.map { $0.time(of: command) }
    let parts = zip([0, count / 10, count], times).map { "\(format($1 * 1000, 0)) ms with \($0) records" }
    let ratio = times[2] / times[0]
    return (
      "\(command): \(parts.joined(separator: ", ")); ratio to the tenth \(format(times[2] / times[1], 2)), to none "
        + format(ratio, 2), ratio
    )
  }

  private func flat(_ command: String, _ sides: [Side]) -> Finding {
    let (text, ratio) = line(command, sides)
    return Finding("\(text) (promised: at most 1.3 of none)", holds: ratio <= 1.3)
  }

  private func run(_ command: String, on vault: String) throws -> Double {
    let process = Process()
    let program = URL(filePath: Programs.own).deletingLastPathComponent().path + "/fieldvault"
    guard FileManager.default.fileExists(atPath: program) else {
      throw BenchmarkFailure("\(program) is missing; scripts/bench builds it")
    }
    process.executableURL = URL(filePath: program)
    process.arguments =
      ["--vault", vault, "--key-file", folder + "/key"] + command.split(separator: " ").map(String.init)
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let before = Self.processorTimeOfChildren()
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchmarkFailure("'\(command)' ends with \(process.terminationStatus)")
    }
    return Self.processorTimeOfChildren() - before
  }

  /// Of the child processes that have ended.
  private static func processorTimeOfChildren() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
  }
}
