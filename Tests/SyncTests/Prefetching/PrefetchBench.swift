import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// Two devices, the first of which prefetches and reports what it sends.
struct PrefetchBench {
  let server: LocalServer
  let one: Device
  let two: Device
  let remote: InterveningRemote
  let worker: SyncWorker

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    remote = InterveningRemote(remote: await one.worker.remote)
    worker = SyncWorker(vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await one.sync()
  }
}

/// A suite of tests of prefetching.
protocol PrefetchSuite {
  var bench: PrefetchBench { get }
}

extension PrefetchSuite {
  var one: Device { bench.one }
  var two: Device { bench.two }
  var remote: InterveningRemote { bench.remote }
  var worker: SyncWorker { bench.worker }

  func sync(_ outcome: RoundOutcome = .done) async throws -> SyncReport {
    let report = try await worker.sync()
    #expect(report.outcome == outcome, "\(String(describing: report.failure))")
    return report
  }

  func expectAllSent() async throws {
    #expect(try await one.count("completedAt IS NULL") == 0)
    try await two.sync()
    #expect(try await one.digests() == two.digests())
  }

  var sizes: [Int] { remote.sent.map(\.count) }
}

extension Device {
  /// Inserts notes, which are less urgent than rooms.
  func addNotes(_ count: Int) async throws {
    try await write { db in
      for number in 0..<count { try db.insert(Note(projectId: 1, body: "note \(number)")) }
    }
  }

  func addRooms(_ count: Int) async throws {
    try await write { db in
      for number in 0..<count { try db.insert(Room(projectId: 1, title: "room \(number)")) }
    }
  }

  func count(_ condition: String) async throws -> Int {
    try await value("SELECT count(*) FROM OfflineSyncQueue WHERE \(raw: condition)", as: Int.self) ?? 0
  }

  func untilChosen(_ count: Int) async throws { try await until(count, "status = 'processing'") }

  func until(_ count: Int, _ condition: String) async throws {
    try await eventually("\(count) operations with \(condition)") { try await self.count(condition) == count }
  }
}
