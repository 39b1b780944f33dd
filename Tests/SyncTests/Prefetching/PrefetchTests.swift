import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// Prefetching: the device chooses the next batch while the server works on the previous one. The device sends the
/// prefetched batch unless other operations now come first.
@Suite struct PrefetchTests: PrefetchSuite {
  let bench: PrefetchBench

  init() async throws { bench = try await PrefetchBench() }

  @Test("The next batch is prefetched while the server works on the previous one")
  func theNextBatchIsChosenWhileTheServerWorks() async throws {
    try await one.addNotes(100)
    remote.intervene { [one] number in if number < 4 { try await one.untilChosen(50) } }
    #expect(try await sync().pushed == 100)
    #expect(sizes == [25, 25, 25, 25])
    // Only this device changed records at the server, so the round needs no second pull.
    #expect(remote.pulls == 1)
    #expect(try await one.count("sendCount <> 1") == 0)
    try await expectAllSent()
  }

  @Test("An edit undone while its operation is prefetched sends nothing and keeps the server's timestamps")
  func undoneAfterChoice() async throws {
    func rename(_ title: String) async throws {
      try await one.write { _ = try $0.execute("UPDATE OfflineProject SET title = \(title)") }
    }
    try await two.sync()
    try await rename("Barn")
    let chosen = try await one.vault.sync { try $0.nextBatch(limit: 25, order: .priority, isPrefetch: true) }
    try await rename("House")
    let ids = chosen.operations.map(\.operationId)
    try await one.vault.sync { try $0.release(ids, wasSent: false) }
    #expect(try await sync().pushed == 0)
    try await expectAllSent()
  }

  @Test("More urgent operations are sent before a prefetched batch")
  func whatIsMoreUrgentOvertakesWhatWasChosen() async throws {
    try await one.addNotes(60)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.addRooms(2)
    }
    #expect(try await sync().pushed == 62)
    #expect(remote.sent[1].filter { $0.entityType == "Room" }.count == 2)
    #expect(sizes == [25, 25, 12])
    try await expectAllSent()
  }

  @Test("New operations of equal priority do not displace a prefetched batch")
  func whatIsAsUrgentDoesNot() async throws {
    try await one.addNotes(60)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.addNotes(5)
    }
    #expect(try await sync().pushed == 65)
    #expect(sizes == [25, 25, 15])
    // Every operation was sent once. Only the last ten were released, and they left together with the five new
    // operations.
    #expect(try await one.count("sendCount <> 1") == 0)
    try await expectAllSent()
  }

  /// The fourth batch is chosen by age, not by priority.
  @Test("An older operation is sent before a batch that was prefetched by age")
  func whatIsOlderOvertakesWhatWasChosenByAge() async throws {
    try await one.addNotes(1)
    try await one.write { db in
      _ = try db.execute(
        """
        UPDATE OfflineSyncQueue SET scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+55 seconds')
        WHERE completedAt IS NULL
        """)
    }
    try await one.addRooms(75)
    try await one.addNotes(60)
    remote.intervene { [one] number in
      guard number == 3 else { return }
      try await one.untilChosen(50)
      // The retry time of the oldest operation passes.
      try await one.write { db in
        _ = try db.execute(
          "UPDATE OfflineSyncQueue SET scheduledAt = '2000-01-01T00:00:00.000Z' WHERE scheduledAt IS NOT NULL")
      }
    }
    #expect(try await sync().pushed == 136)
    #expect(remote.sent[3].contains { $0.patch.fields["body"] == .text("note 0") })
    try await expectAllSent()
  }

  @Test("Operations that reference a record in flight are prefetched too")
  func whatHangsOnWhatIsUnderWayIsChosenToo() async throws {
    try await one.addRooms(30)
    try await one.write { db in
      for _ in 0..<10 { try db.insert(Note(projectId: 1, roomId: 1, body: "in a room that is under way")) }
    }
    remote.intervene { [one] number in if number == 1 { try await one.untilChosen(40) } }
    #expect(try await sync().pushed == 40)
    #expect(sizes == [25, 15])
    #expect(try await one.count("sendCount <> 1") == 0)
    try await expectAllSent()
  }

  /// The server has not stored the room, so operations that reference the room must wait.
  @Test("Operations that reference a record wait when the server defers that record")
  func whatHangsOnWhatWasNotStoredWaits() async throws {
    try await one.addRooms(25)
    try await one.write { db in
      for _ in 0..<10 { try db.insert(Note(projectId: 1, roomId: 1, body: "in a room that is under way")) }
    }
    remote.intervene({ [one] number in if number == 1 { try await one.untilChosen(35) } }) { number, response in
      guard number == 1 else { return }
      response.results[0].outcome = .waiting(for: "another operation")
    }
    let report = try await sync()
    #expect(report.pushed == 35 && report.conflicts == 0)
    #expect(remote.sent[1].map(\.entityType) == ["Room"] + Array(repeating: "Note", count: 10))
    try await expectAllSent()
  }

  @Test("A record edited while its operation is prefetched is sent a second time")
  func whatIsEditedMeanwhileFollows() async throws {
    try await one.addNotes(50)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.write { _ = try $0.execute("UPDATE OfflineNote SET body = 'edited' WHERE noteId = 50") }
    }
    #expect(try await sync().pushed == 51)
    #expect(try await one.value("SELECT body FROM OfflineNote WHERE noteId = 50", as: String.self) == "edited")
    try await expectAllSent()
    #expect(try await two.values("SELECT body FROM OfflineNote WHERE body = 'edited'").count == 1)
  }

  @Test("A response with results in another order is rejected, and its operations are sent again")
  func reorderedResultsAreRejected() async throws {
    try await one.addNotes(3)
    remote.intervene({ _ in }) { _, response in response.results.swapAt(0, 2) }
    #expect(try await sync(.offline).pushed == 0)
    #expect(try await one.count("status = 'pending'") == 3)
    remote.intervene { _ in }
    #expect(try await sync().pushed == 3)
    try await expectAllSent()
  }

  @Test("A deferred operation is sent before the operations that were prefetched")
  func deferredOperationIsSentFirst() async throws {
    try await one.addNotes(50)
    remote.intervene({ [one] number in if number == 1 { try await one.untilChosen(50) } }) { number, response in
      guard number == 1 else { return }
      response.results[24].outcome = .waiting(for: "another operation")
    }
    #expect(try await sync().pushed == 50)
    // The deferred operation is older than the prefetched ones.
    #expect(remote.sent[1].map(\.operationId).contains(remote.sent[0][24].operationId))
    #expect(sizes == [25, 25, 1])
    try await expectAllSent()
  }

  @Test("Nothing is prefetched for a server that does not deduplicate operations")
  func nothingIsChosenAheadForAServerThatDoesNotKnowOperations() async throws {
    try await one.addNotes(60)
    remote.able.withLock { $0.knowsOperations = false }
    remote.intervene { [one] number in
      try await Task.sleep(for: .milliseconds(100))
      #expect(try await one.count("status = 'processing'") == (number < 3 ? 25 : 10))
    }
    #expect(try await sync().pushed == 60)
    try await expectAllSent()
  }

  /// After a crash, operations in flight are sent again or for the first time, and the server applies each of them
  /// once.
  @Test("A crash with two batches in flight loses no operation")
  func aDeathWithTwoBatchesUnderWayLosesNothing() async throws {
    try await one.addNotes(60)
    _ = try await one.vault.sync { try $0.nextBatch(limit: 25) }
    _ = try await one.vault.sync { try $0.nextBatch(limit: 25) }
    #expect(try await one.count("status = 'processing'") == 50)
    #expect(try await sync().pushed == 60)
    try await expectAllSent()
  }
}
