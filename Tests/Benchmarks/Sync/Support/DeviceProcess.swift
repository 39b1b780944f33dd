import CipherSQL
import Foundation
import VaultStore
import SyncEngine

/// The measurements of a device process about its first sync.
struct FirstSync: Codable {
  var records = 0
  /// Of the whole process during the round, user and system.
  var processorSeconds = 0.0
  var seconds = 0.0
  var longestTransaction = 0.0
  /// Of the longest write transaction.
  var transactionProcessorSeconds = 0.0
  /// 4 KiB into a database with the same settings, in a transaction of its own: the median.
  var durableCommit = 0.0
  /// The most memory the process had at once during the round.
  var peakKiB = 0
}

/// `fieldvault-bench device FOLDER URL TOKEN [CACHE_MIB]`: a device that syncs for the first time, in a process of its own.
enum DeviceProcess {
  static func run(_ words: [String]) async throws {
    guard words.count >= 3 else {
      throw BenchmarkFailure("usage: fieldvault-bench device FOLDER URL TOKEN [CACHE_MIB]")
    }
    let vault = try BenchmarkVault.make(words[0] + "/first.vault", cacheMiB: words.dropFirst(3).first.flatMap(Int.init))
    let (worker, notes) = try BenchmarkVault.worker(vault, Access(url: words[1], token: words[2]))
    var result = FirstSync()
    // Opening a vault takes more memory for a moment, for Argon2id, than sync does: the peak is counted from here.
    _ = try PeakMemory()
    let times = WriteTimes()
    try times?.reset()
    let (before, start) = (processorTime(), ContinuousClock.now)
    let report = try await worker.sync()
    result.processorSeconds = processorTime() - before
    result.seconds = (ContinuousClock.now - start).inSeconds
    guard report.outcome == .done, report.kept == 0 else { throw BenchmarkFailure("the round failed: \(report)") }
    result.records = report.pulled
    result.longestTransaction = notes.longestPause
    result.peakKiB = try PeakMemory.peakKiB()
    result.transactionProcessorSeconds = try times?.longest() ?? 0
    result.durableCommit = try durableCommit(words[0])
    print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
  }

  private static func durableCommit(_ folder: String) throws -> Double {
    let database = try Database(path: folder + "/commits.db", key: try Suite.plainKey([UInt8](repeating: 7, count: 32)))
    defer { database.close() }
    try database.write { _ = try $0.execute("CREATE TABLE page (content BLOB NOT NULL)") }
    return median(
      try (0..<100).map { _ in
        let start = ContinuousClock.now
        try database.write { _ = try $0.execute("INSERT INTO page VALUES (randomblob(3900))") }
        return (ContinuousClock.now - start).inSeconds
      })
  }

  /// Starts such a process and waits for its measurements.
  static func firstSync(in folder: String, _ access: Access, cacheMiB: Int? = nil) throws -> FirstSync {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: Programs.own)
    process.arguments = ["device", folder, access.url, access.token] + (cacheMiB.map { [String($0)] } ?? [])
    process.environment = try WriteTimes(path: folder + "/write.times").environment()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkFailure("the device ended with an error") }
    try FileManager.default.removeItem(atPath: folder)
    return try JSONDecoder().decode(FirstSync.self, from: text)
  }
}
