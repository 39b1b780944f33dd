import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing
import HTTPClient

@testable import VaultStore
@testable import SyncEngine

/// A prefetched batch that is not sent: the device reopens its operations.
@Suite struct ReleasedPrefetchTests: PrefetchSuite {
  let bench: PrefetchBench

  init() async throws { bench = try await PrefetchBench() }

  @Test("Prefetched operations that were not sent are reopened and coalesce further edits")
  func whatWasChosenAndNotSentGrowsAgain() async throws {
    try await one.addNotes(100)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      throw RemoteFailure(.timedOut(seconds: 1))
    }
    #expect(try await sync(.offline).pushed == 0)
    #expect(try await one.count("status = 'pending'") == 100)
    // An operation that may have reached the server keeps its payload.
    #expect(try await one.count("payload IS NOT NULL AND sendCount = 1") == 25)
    #expect(try await one.count("payload IS NULL AND sendCount = 0") == 75)
    #expect(try await one.values("SELECT DISTINCT syncStatus FROM OfflineNote") == ["pending"])
    try await one.write { _ = try $0.execute("UPDATE OfflineNote SET body = body || ', edited'") }
    #expect(try await one.count("status = 'pending'") == 125)
    #expect(try await sync().pushed == 125)
    try await expectAllSent()
  }

  @Test("A prefetched operation that was not sent coalesces a later edit of its record")
  func whatWasNotSentTakesInWhatFollowsIt() async throws {
    try await one.addNotes(50)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.write { _ = try $0.execute("UPDATE OfflineNote SET body = 'edited' WHERE noteId = 50") }
      throw RemoteFailure(.timedOut(seconds: 1))
    }
    #expect(try await sync(.offline).pushed == 0)
    #expect(try await one.count("entityId = 50 AND entityType = 'Note' AND status = 'pending'") == 1)
    #expect(try await sync().pushed == 50)
    try await expectAllSent()
  }

  private func makeProjectOfProperty() async throws {
    try await one.write { db in
      let project = try db.insert(Project(title: "older than its property"))
      try db.execute("INSERT INTO OfflineProperty (address) VALUES ('Main Street 1')")
      try db.execute("UPDATE OfflineProject SET propertyId = 1 WHERE projectId = \(project.projectId)")
    }
  }

  /// The reference of a prefetched operation is emptied, or the referenced record is deleted, before the operation
  /// is sent.
  @Test(
    "A prefetched operation whose reference changes before it is sent is pushed without a conflict",
    arguments: ["UPDATE OfflineProject SET propertyId = NULL", "DELETE FROM OfflineProperty"])
  func whatIsPutBackRefersToWhatIsThere(change: String) async throws {
    try await one.addRooms(25)
    try await makeProjectOfProperty()
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(27)
      try await one.write { _ = try $0.execute(SQL(raw: change)) }
    }
    let report = try await sync()
    #expect(report.conflicts == 0 && report.failed == 0)
    try await expectAllSent()
  }

  /// An operation that may have been sent is sent again unchanged, after the record that its payload references.
  @Test("An operation that is sent again follows the record that its payload references")
  func whatIsSentAgainGoesBehindWhatItReferredTo() async throws {
    try await makeProjectOfProperty()
    remote.intervene { _ in throw RemoteFailure(.timedOut(seconds: 1)) }
    #expect(try await sync(.offline).pushed == 0)
    try await one.write { _ = try $0.execute("UPDATE OfflineProject SET propertyId = NULL") }
    remote.intervene { _ in }
    let report = try await sync()
    #expect(report.conflicts == 0 && report.pushed == 3)
    try await expectAllSent()
  }

  @Test("The deletion of a record whose operation is prefetched reaches the other device")
  func aDeletionThatIsPutBackIsSent() async throws {
    try await one.addNotes(50)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.write { _ = try $0.execute("DELETE FROM OfflineNote WHERE noteId = 50") }
      throw RemoteFailure(.timedOut(seconds: 1))
    }
    #expect(try await sync(.offline).pushed == 0)
    remote.intervene { _ in }
    _ = try await sync()
    try await expectAllSent()
    #expect(try await two.values("SELECT body FROM OfflineNote WHERE isDeleted = 0").count == 49)
  }

  @Test("An edit that waits behind an operation in flight cannot be discarded")
  func whatIsBeingSentCannotBeDiscarded() async throws {
    try await one.addNotes(50)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.write { _ = try $0.execute("UPDATE OfflineNote SET body = 'edited' WHERE noteId = 50") }
      let follower = try await one.values(
        "SELECT operationId FROM OfflineSyncQueue WHERE entityId = 50 AND entityType = 'Note' AND payload IS NULL")
      let refused = #expect(throws: VaultError.self) {
        _ = try one.vault.discard(follower)
      }
      #expect(refused?.code == .busy)
    }
    #expect(try await sync().pushed == 51)
    try await expectAllSent()
  }

  /// A form saves a record whose operation is in a prefetched batch. The batch is then released.
  @Test("A save behind a prefetched operation that is then released reports savedOffline")
  func whatIsSavedMeanwhileIsNotSaidToBeSent() async throws {
    try await one.addNotes(50)
    let saving = Locked<Task<SaveOutcome, any Error>?>(nil)
    remote.intervene { [one, worker] number in
      if number == 1 {
        try await one.untilChosen(50)
        let task = Task {
          try await worker.save(within: .seconds(20)) { db in
            _ = try db.execute("UPDATE OfflineNote SET body = 'edited' WHERE noteId = 50")
          }.1
        }
        saving.withLock { $0 = task }
        try await one.until(1, "status = 'pending' AND entityId = 50")
      }
      throw RemoteFailure(.timedOut(seconds: 1))
    }
    _ = try await sync(.offline)
    let outcome = try await saving.withLock { $0 }?.value
    guard case .savedOffline? = outcome else {
      Issue.record("\(String(describing: outcome))")
      return
    }
  }

  @Test("A prefetched operation that is removed before it is sent is not pushed")
  func whatIsGoneMeanwhileIsNotSent() async throws {
    try await one.addNotes(50)
    remote.intervene { [one] number in
      guard number == 1 else { return }
      try await one.untilChosen(50)
      try await one.write {
        _ = try $0.execute("DELETE FROM OfflineSyncQueue WHERE entityId = 50 AND entityType = 'Note'")
      }
    }
    #expect(try await sync().pushed == 49)
    #expect(sizes == [25, 24])
  }

  @Test("A sent operation keeps its payload when a later prefetch releases it")
  func whatWasSentBeforeStaysAsItWasSent() async throws {
    try await one.addNotes(25)
    remote.intervene { _ in throw RemoteFailure(.timedOut(seconds: 1)) }
    #expect(try await sync(.offline).pushed == 0)
    try await one.addRooms(25)
    remote.intervene { [one] number in
      if number == 2 { try await one.untilChosen(50) }
      throw RemoteFailure(.timedOut(seconds: 1))
    }
    #expect(try await sync(.offline).pushed == 0)
    #expect(try await one.count("entityType = 'Note' AND payload IS NOT NULL AND sendCount = 1") == 25)
    remote.intervene { _ in }
    #expect(try await sync().pushed == 50)
    try await expectAllSent()
  }
}
