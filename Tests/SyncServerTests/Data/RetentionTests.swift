import CipherSQL
import Foundation
import Platform
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

@Suite struct RetentionTests {
  private static let day: Int64 = 86_400_000

  @Test("The time of retention is stored, begins at the last change, and never follows a clock that jumps")
  func storedTime() throws {
    let temporary = try TemporaryFolder()
    let folder = try ServerFolder(temporary.path + "/data", isCreating: true)
    let start: Int64 = 1_767_225_600_000
    do {
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      let clock = try ServerClock(directory, directory.environment.clock)
      #expect(clock.needsBeginning && clock.storing(at: 7) == 7)
      clock.begin(largestStored: start, wall: start + 100 * Self.day)
      #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
      #expect(clock.storing(at: 7) >= start)
    }
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let clock = try ServerClock(directory, directory.environment.clock)
    #expect(!clock.needsBeginning)
    #expect(try clock.advance(wall: start + 100 * Self.day).now < start + Self.day)
  }

  @Test("Retention of data without a stored time starts at the last stored response or deletion")
  func largestStoredTime() async throws {
    let server = try TestServer()
    let client = try server.client("ada")
    let uuid = newUuid()
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    #expect(try await server.server.storage.read(account) { try $0.largestStoredTime } == nil)
    let before = Date.nowInMilliseconds().milliseconds
    #expect(try await client.results([Operation.create("Project", uuid, ["title": "Dam"])]) == ["accepted"])
    let found = try await server.server.storage.read(account) { try $0.largestStoredTime }
    #expect(try #require(found) >= before)
    await server.server.stop()
  }

  @Test("A server whose wall clock is 100 days ahead of its data forgets no newer deletion in twelve hours")
  func startAfterAJump() async throws {
    let data = try await OldAccounts(1)
    try await data.runRetention { advance in
      // The time of retention advances by at most twice the time that passes.
      for _ in 0..<25 { try await advance() }
    }
    #expect(try await data.left(data.older) == 0)
    #expect(try await data.left(data.newer) == 1)
  }

  @Test("Rounds wait for an instant, so that time that passes before a wait does not prolong it")
  func waitsUntilAnInstant() async throws {
    let data = try await OldAccounts(1)
    let time = data.time
    let readings = Locked<[ContinuousClock.Instant]>([])
    let ends = Locked<[ContinuousClock.Instant]>([])
    let clock = Clock(
      now: { time.now },
      instant: {
        // Time passes before each reading, never twice the same.
        let count = readings.withLock { $0.count + 1 }
        time.advance(by: .milliseconds(count * count))
        let instant = time.clock.instant()
        readings.withLock { $0.append(instant) }
        return instant
      }
    ) { end in
      let count = ends.withLock { ends in
        ends.append(end)
        return ends.count
      }
      if count == 8 { throw CancellationError() }
      time.advance(by: max(.zero, end - time.clock.instant()))
    }
    await data.retention(Environment(clock: clock, random: .repeatable(7))).run(try ServerClock(data.directory, clock))
    let starts = Set(readings.withLock { $0 })
    let waits = ends.withLock { $0 }
    #expect(waits.count == 8)
    for end in waits { #expect(starts.contains(end) || starts.contains(end - .seconds(900))) }
  }

  @Test("Every account forgets its old data within six hours, few in an hour and at most one at the start")
  func spreadsAccounts() async throws {
    let data = try await OldAccounts(16)
    try data.directory.storeRetentionTime(data.time.now)
    let upload = try await data.beginUpload(data.accounts[0], expiry: data.time.now)
    try await data.runRetention { advance in
      try await eventually { try await data.files.upload(data.accounts[0], upload) == nil }
      #expect(try data.openFiles("files.db").count == 1)
      var left = try await data.left(data.newer)
      #expect(left >= 15)
      for _ in 0..<5 {
        for _ in 0..<5 { try await advance() }
        let next = try await data.left(data.newer)
        #expect(left - next <= 8)
        left = next
      }
      #expect(left == 0)
    }
  }

  @Test("An account is due once in each six hours of retention time, also across a restart")
  func slots() {
    let accounts = (0..<1_000).map { AccountName(name: "", folder: String(format: "%032x", $0)) }
    let start: Int64 = 1_767_225_600_000
    var visits = [Int](repeating: 0, count: accounts.count)
    for round in Int64(0)..<48 {
      let (last, now) = (start + round * 900_000, start + (round + 1) * 900_000)
      let due = accounts.indices.filter { RetentionSlot(accounts[$0]).isPassed(after: last, until: now) }
      #expect((10...90).contains(due.count))
      for index in due { visits[index] += 1 }
    }
    #expect(visits.allSatisfy { $0 == 2 })
  }

  @Test("A change is never stored under a time before that of retention")
  func changesAfterAClockIsSetBack() async throws {
    let temporary = try TemporaryFolder()
    let later = Date.nowInMilliseconds().milliseconds + 10 * Self.day
    do {
      let directory = try ServerDirectory(in: try ServerFolder(temporary.path + "/data", isCreating: true))
      defer { directory.close() }
      try await directory.database.write { db in
        _ = try db.execute("INSERT INTO RetentionTime (id, milliseconds) VALUES (1, \(later))")
      }
    }
    let server = try TestServer(in: temporary)
    let client = try server.client("ada")
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    let uuid = newUuid()
    let results = try await client.results([
      Operation.create("Project", uuid, ["title": "Dam"]), Operation.delete("Project", uuid, version: 1),
    ])
    #expect(results == ["accepted", "accepted"])
    let stored = try await server.server.storage.read(account) { try $0.largestStoredTime }
    #expect(try #require(stored) >= later)
    await server.server.stop()
  }
}
