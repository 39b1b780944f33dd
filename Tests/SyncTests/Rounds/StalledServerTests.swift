import CipherSQL
import Foundation
import RawNetwork
import RestorationModel
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// A server that stops responding in the middle of a round, at any byte.
@Suite(.timeLimit(.minutes(5))) struct StalledServerTests {
  /// Forwards a limited number of bytes from the server. After that, the link stalls or trickles a few bytes per
  /// pause.
  private final class Stall: Sendable {
    let left: Locked<Int>
    let pause: TimeInterval
    private let isOver = Locked(false)

    init(after bytes: Int, pause: TimeInterval) { (left, self.pause) = (Locked(bytes), pause) }

    func end() { isOver.withLock { $0 = true } }

    func pass(_ count: Int) -> Int {
      let isThrough = left.withLock { left in
        left -= count
        return left >= 0
      }
      if isThrough { return count }
      let end = Date(timeIntervalSinceNow: pause)
      while Date() < end, !isOver.withLock({ $0 }) { usleep(5_000) }
      return isOver.withLock { $0 } ? -count : count
    }
  }

  private let server: LocalServer
  private let one: Device
  private let two: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
  }

  /// Returns a worker that reaches the server through a link and times out soon.
  private func worker(_ port: UInt16) throws -> SyncWorker {
    var limits = TransportLimits()
    (limits.connectSeconds, limits.idleSeconds, limits.wholeSeconds) = (2, 0.5, 1.5)
    let token = two.token
    let transport = HTTPTransport(address: try ServerAddress("http://127.0.0.1:\(port)"), limits: limits) { token }
    return SyncWorker(
      vault: two.vault, remote: FieldVaultRemote(transport: transport), monitor: NetworkMonitor(fixed: .online))
  }

  private func serverPort() throws -> UInt16 {
    try #require(server.server.url.split(separator: ":").last.flatMap { UInt16($0) })
  }

  @Test(
    "A round ends with a reason wherever the server stops or trickles, and the next round loses nothing",
    arguments: [false, true])
  func everyPlace(trickles: Bool) async throws {
    let seed = UInt64.random(in: 0...999_999)
    var random = Seeded(seed)
    let port = try serverPort()
    try await one.write { db in
      try db.insert(Project(title: "House"))
      for number in 1...30 { try db.insert(Room(projectId: 1, title: "room \(number)")) }
    }
    try await one.sync()
    try await two.sync()
    for number in 1...6 {
      // Both devices have changes for each other, and the round compares.
      for (device, column) in [(one, "title"), (two, "level")] {
        try await device.write {
          _ = try $0.execute(
            "UPDATE OfflineRoom SET \(identifier: column) = \("\(number)") WHERE rowid % 3 = \(number % 3)")
        }
      }
      try await one.sync()
      let bytes = Int.random(in: 0...4_000, using: &random)
      let stall = Stall(after: bytes, pause: trickles ? 0.2 : 3_600)
      let link = try RelayLink(to: port, partBytes: trickles ? 16 : 64) { ({ $0 }, stall.pass) }
      let worker = try worker(link.port)
      // A round that does not end reaches the time limit of the suite.
      let report = try await worker.sync(RoundRequest(isFull: true))
      #expect(report.outcome == .offline && report.failure != nil, "seed \(seed), \(bytes) bytes: \(report)")
      stall.end()
      link.close()
    }
    try await Device.expectAgreement(one, two, "seed \(seed)")
    #expect(try await two.values("SELECT DISTINCT title || level FROM OfflineRoom ORDER BY rowid % 3").count == 3)
  }
}
