import CommandLineKit
import Foundation
import HTTPServer
import Platform
import ServerStorage
import SyncModel
import SyncServer

/// The CPU time of the metrics and of the log line of a push, against that of the whole push.
struct MetricsBenchmark {
  let folder: String
  let rounds: Int
  private let operations = 25
  private let pushes = 400
  private let recordings = 20_000

  func findings() async throws -> [Finding] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var (whole, counted, logged): ([Double], [Double], [Double]) = ([], [], [])
    for round in 0..<rounds {
      whole.append(try await push(folder + "/\(round)"))
      counted.append(try count())
      logged.append(try log())
    }
    let ratio = median(zip(whole, zip(counted, logged)).map { ($1.0 + $1.1) / $0 })
    func microseconds(_ times: [Double]) -> String { format(median(times) * 1_000_000, 1) }
    return [
      Finding(
        "a push of \(operations) operations: \(microseconds(whole)) microseconds of the server's CPU; its metrics "
          + "\(microseconds(counted)), its line of the log as JSON \(microseconds(logged)); ratio \(format(ratio, 4)) "
          + "(promised: at most 0.02)", holds: ratio <= 0.02)
    ]
  }

  /// Returns the CPU time of a server for each push, with metrics and log.
  private func push(_ place: String) async throws -> Double {
    let token = try ServerFilling.addUser("ada", in: place)
    let file = try logFile(place + "-requests")
    defer { try? file.close() }
    let server = try ServerProcess(folder: place, requestLog: file)
    defer { server.stop() }
    let sender = try PushSender(Access(url: server.url, token: token), device: "tablet")
    try await sender.begin()
    for _ in 0..<20 { try await sender.push(operations) }
    let before = try server.processorTime()
    for _ in 0..<pushes { try await sender.push(operations) }
    let time = (try server.processorTime() - before) / Double(pushes)
    guard try file.seekToEnd() > 100 * UInt64(pushes) else { throw BenchmarkFailure("the server logs no requests") }
    return time
  }

  /// Returns the CPU time of the metrics of a push.
  private func count() throws -> Double {
    let metrics = ServerMetrics(version: "1", slowRequest: .seconds(1))
    let times = ServerStorage.WriteTimes(waits: [.microseconds(80)], hold: .milliseconds(4))
    let changes = CommittedChanges(1...Int64(operations), projects: [ServerFilling.identifier()], author: "tablet")
    let request = completed()
    return processorTime {
      for _ in 0..<recordings {
        for _ in 0..<operations { metrics.count(.accepted(version: 1, serverId: nil)) }
        metrics.count(changes)
        metrics.count(times)
        _ = metrics.count(request, waits: false, isTransfer: false)
      }
    } / Double(recordings)
  }

  /// Returns the CPU time of the line that the program writes for a push.
  private func log() throws -> Double {
    let file = try logFile(folder + "/log")
    defer { try? file.close() }
    let output = Output(descriptor: file.fileDescriptor)
    let failures = Locked(0)
    let log = RequestLog(format: .json) { line in
      do {
        try output.line(line)
        try output.flush()
      } catch { failures.withLock { $0 += 1 } }
    }
    let request = completed()
    let time = processorTime { for _ in 0..<recordings { log.note(request) } } / Double(recordings)
    guard failures.withLock({ $0 }) == 0 else { throw BenchmarkFailure("the log cannot be written") }
    return time
  }

  private func completed() -> CompletedRequest {
    CompletedRequest(
      id: ServerFilling.identifier(), method: "POST", pattern: "/v1/push", status: 200, duration: .milliseconds(6),
      bytes: 3_500, account: ServerFilling.identifier(), device: ServerFilling.identifier())
  }

  private func logFile(_ path: String) throws -> FileHandle {
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw BenchmarkFailure("\(path) cannot be created")
    }
    return try FileHandle(forWritingTo: URL(filePath: path))
  }
}
