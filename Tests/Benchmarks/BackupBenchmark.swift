import Foundation

/// The time of a push while a backup of the server runs, against that of a push alone.
struct BackupBenchmark {
  let folder: String
  let rounds: Int
  private let operations = 25
  private let pushes = 100
  private let readings = 50_000

  func findings() async throws -> [Finding] {
    let data = folder + "/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    let account = try await ServerFilling.fill("ada", readings: readings, in: data)
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    let sender = try PushSender(Access(url: server.url, token: account.token), device: "tablet")
    try await sender.begin()
    for _ in 0..<20 { try await sender.push(operations) }
    var (ratios, alone, backups): ([Double], [Double], Int) = ([], [], 0)
    for _ in 0..<rounds {
      let before = try await times(sender) {}
      let during = try await whileBackingUp(data, sender, &backups)
      ratios.append(median(during) / median(before))
      alone += before
    }
    return [
      Finding(
        "a push of \(operations) operations to an account of \(readings) readings: \(format(median(alone) * 1000, 1)) ms, during "
          + "\(backups) backups one after the other \(format(median(ratios), 2)) times that (promised: at most 1.3)",
        holds: median(ratios) <= 1.3)
    ]
  }

  /// Returns the time of each push in seconds.
  /// - Parameter prepare: is called before each push.
  private func times(_ sender: PushSender, _ prepare: () throws -> Void) async throws -> [Double] {
    var times: [Double] = []
    for _ in 0..<pushes {
      try prepare()
      let start = ContinuousClock.now
      try await sender.push(operations)
      times.append((ContinuousClock.now - start).inSeconds)
    }
    return times
  }

  /// Returns the times of pushes that begin while a backup runs.
  private func whileBackingUp(_ data: String, _ sender: PushSender, _ backups: inout Int) async throws -> [Double] {
    var backup = try startBackup(of: data)
    defer {
      backup.terminate()
      backup.waitUntilExit()
    }
    return try await times(sender) {
      guard !backup.isRunning else { return }
      guard backup.terminationStatus == 0 else { throw BenchmarkFailure("the backup failed") }
      backups += 1
      backup = try startBackup(of: data)
    }
  }

  private func startBackup(of data: String) throws -> Process {
    let file = folder + "/backup"
    try? FileManager.default.removeItem(atPath: file)
    let process = Process()
    process.executableURL = URL(filePath: ProgramBuild.own.folder + "/fieldvault-server")
    process.arguments = ["backup", file, "--data", data, "--quiet"]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    return process
  }
}
