import CipherSQL
import RestorationModel
import StoreSupport
import SyncModel
import Testing
import VaultStore

@testable import Outbox

/// The table of the outbox stores each transition as ``OutboxOperation`` decides it.
@Suite struct OutboxTransitionTests {
  private static let now: Int64 = 1_767_225_600_000
  private static let problem = ServerProblem(title: "refused", status: 422, detail: "humidity is above 100")

  private static let starts: [OutboxOperation] = [
    OutboxOperation(state: .pending, hasPayload: false),
    OutboxOperation(state: .pending, hasPayload: false, hasKey: true, sendCount: 2),
    OutboxOperation(state: .pending, hasPayload: false, isScheduled: true, retryCount: 2),
    OutboxOperation(state: .sealed, hasPayload: true, sendCount: 1),
    OutboxOperation(state: .sealed, hasPayload: true, isFollowed: true, isScheduled: true, retryCount: 4, sendCount: 5),
    OutboxOperation(state: .inFlight, hasPayload: true, sendCount: 1),
    OutboxOperation(state: .inFlight, kind: .create, hasPayload: true, sendCount: 1),
    OutboxOperation(state: .inFlight, kind: .delete, hasPayload: true, sendCount: 1),
    OutboxOperation(state: .inFlight, hasPayload: true, isFollowed: true, retryCount: 5, sendCount: 2),
    OutboxOperation(state: .acknowledged, hasPayload: false, hasKey: true, sendCount: 1),
    OutboxOperation(state: .failed, hasPayload: false, retryCount: 1),
    OutboxOperation(state: .failed, hasPayload: true, isFollowed: true, retryCount: 5, sendCount: 6),
    OutboxOperation(state: .conflicted, hasPayload: false),
  ]

  private static let events: [OutboxEvent] = [
    .unsendable, .lostResponse, .notSent(isRecordDeleted: false), .notSent(isRecordDeleted: true), .acknowledged,
    .rejected(mayBeStored: false, isRecordDeleted: false), .rejected(mayBeStored: true, isRecordDeleted: false),
    .rejected(mayBeStored: false, isRecordDeleted: true), .attemptFailed, .throttled, .outdated, .notExecuted,
    .conflicted,
    .reopened, .retried, .requeued, .conflictResolved,
  ]

  private let database: Database
  private let entities: Entities
  private let room: Int64

  init() throws {
    (database, entities) = try restorationDatabase()
    room = try database.write { db in
      let project = try db.insert(Project(title: "House"))
      let location = try db.insert(Location(projectId: project.projectId, title: "ground floor"))
      return try db.insert(Room(projectId: project.projectId, locationId: location.locationId, title: "Kitchen")).roomId
    }
  }

  /// Gives the room one operation in a state, and a following one if the state says so.
  private func prepare(_ start: OutboxOperation, _ transaction: SyncTransaction) throws -> QueuedOperation {
    let connection = transaction.connection
    try connection.execute("DELETE FROM OfflineSyncQueue WHERE entityType = 'Room'")
    let time = WireTime.text(Self.now)
    try connection.execute(
      """
      INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority, status, payload, idempotencyKey,
        retryCount, sendCount, scheduledAt, completedAt, errorMessage, errorStatus, lastAttemptAt)
      SELECT 'Room', roomId, uuid, \(start.kind.rawValue), 1, \(start.status), CASE WHEN \(start.hasPayload) THEN '{}' END,
        CASE WHEN \(start.hasKey) THEN 'key' END, \(start.retryCount), \(start.sendCount),
        CASE WHEN \(start.isScheduled) THEN \(time) END, CASE WHEN \(start.state == .acknowledged) THEN \(time) END,
        CASE WHEN \(start.state == .failed) THEN 'before' END, CASE WHEN \(start.state == .failed) THEN 400 END, \(time)
      FROM OfflineRoom WHERE roomId = \(room)
      """)
    let number = connection.lastInsertedRowID
    if start.isFollowed {
      try connection.execute(
        """
        INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority)
        SELECT 'Room', roomId, uuid, 'update', 1 FROM OfflineRoom WHERE roomId = \(room)
        """)
    }
    try connection.execute("UPDATE OfflineRoom SET syncStatus = 'synced', isDirty = 1 WHERE roomId = \(room)")
    return try #require(try find(number, connection))
  }

  private func find(_ number: Int64, _ connection: Connection) throws -> QueuedOperation? {
    try QueuedOperation.all(where: "queueNumber = ?", [.integer(number)], in: connection).first
  }

  /// The columns of a row that its ``OutboxOperation`` does not have.
  private func details(_ number: Int64, _ connection: Connection) throws -> [String?] {
    try connection.fetchRows(
      """
      SELECT errorMessage, CAST(errorStatus AS TEXT), scheduledAt, completedAt FROM OfflineSyncQueue
      WHERE queueNumber = \(number)
      """, as: String?.self, String?.self, String?.self, String?.self
    ).first.map { [$0.0, $0.1, $0.2, $0.3] } ?? []
  }

  @Test("A row is stored as its transition says, for each state and event", arguments: starts)
  func rows(_ start: OutboxOperation) throws {
    for event in Self.events {
      try database.write { db in
        try SyncTransaction.run(on: db, SyncCatalog(entities), now: Self.now) { transaction in
          let queued = try prepare(start, transaction)
          #expect(queued.operation == start)
          let before = try details(queued.number, db)
          let transition = try transaction.outbox.apply(
            event, to: queued, Outbox.Problem(Self.problem), jitter: 0.5)
          #expect(transition == start.after(event))
          let stored = try find(queued.number, db)
          guard let transition else {
            #expect(stored?.operation == start, "\(event)")
            #expect(try details(queued.number, db) == before, "\(event)")
            return
          }
          let pair = "\(start) after \(event)"
          if transition.effects.contains(.remove) {
            #expect(stored == nil, "\(pair)")
          } else {
            #expect(stored?.operation == transition.operation, "\(pair)")
            try checkDetails(transition, queued.number, before, pair, db)
          }
          let status = try db.fetchOne("SELECT syncStatus FROM OfflineRoom WHERE roomId = \(room)", as: String.self)
          let expected = transition.effects.compactMap { effect in
            if case .setRecordStatus(let status) = effect { status.rawValue } else { nil }
          }
          #expect(status == expected.first ?? "synced", "\(pair)")
          let pending = try QueuedOperation.pending("Room", room, in: db).filter { $0.number != queued.number }
          #expect(pending.isEmpty == (!start.isFollowed || transition.effects.contains(.absorbNext)), "\(pair)")
        }
      }
    }
  }

  private func checkDetails(
    _ transition: OutboxTransition, _ number: Int64, _ before: [String?], _ pair: String, _ db: Connection
  ) throws {
    var expected = before
    if transition.effects.contains(.clearProblem) { expected[0...1] = [nil, nil] }
    if transition.effects.contains(.storeProblem) { expected[0...1] = ["humidity is above 100", "422"] }
    if !transition.operation.isScheduled { expected[2] = nil }
    for case .delay(let delay) in transition.effects {
      switch delay {
      case .throttled: expected[2] = WireTime.text(Self.now + 1000)
      case .retry(let retries):
        expected[2] = WireTime.text(Self.now + RetryDelay.milliseconds(afterRetries: retries, jitter: 0.5))
      }
    }
    if transition.operation.state == .acknowledged { expected[3] = WireTime.text(Self.now) }
    #expect(try details(number, db) == expected, "\(pair)")
  }

  @Test("An edit in SQL has the effect of the event 'edited' on the record's operation", arguments: starts)
  func edits(_ start: OutboxOperation) throws {
    // The record of an acknowledged operation has no unfinished one, which the next operation is for.
    if start.state == .acknowledged { return }
    let number = try database.write { db in
      try SyncTransaction.run(on: db, SyncCatalog(entities), now: Self.now) { transaction in
        let number = try prepare(start, transaction).number
        try db.execute(
          "UPDATE OfflineRoom SET syncVersion = 3, syncStatus = \(recordStatus(start)) WHERE roomId = \(room)")
        return number
      }
    }
    try database.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'Pantry' WHERE roomId = \(room)") }
    try database.read { db in
      let stored = try #require(try find(number, db))
      var expected = start.after(.edited)?.operation ?? start
      // A sealed operation is followed by one with the edit.
      expected.isFollowed = expected.hasPayload
      #expect(stored.operation == expected)
      #expect(try details(number, db)[0] == nil)
      #expect(try QueuedOperation.ofRecord("Room", room, in: db).count == (expected.hasPayload ? 2 : 1))
    }
  }

  private func recordStatus(_ start: OutboxOperation) -> String {
    switch start.state {
    case .pending, .sealed, .acknowledged: "pending"
    case .inFlight: "syncing"
    case .failed: "failed"
    case .conflicted: "conflict"
    }
  }
}
