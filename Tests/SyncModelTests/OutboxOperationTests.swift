import Testing

@testable import SyncModel

/// The transitions of an outbox operation: every pair of state and event, and the laws that hold for all of them.
@Suite struct OutboxOperationTests {
  typealias State = OutboxOperation.State

  /// A state of the table below. A failed operation exists with and without a payload, a pending or sealed one with and without
  /// a scheduled time.
  enum Row: String, CaseIterable {
    case pending, pendingScheduled, sealed, sealedScheduled, inFlight, acknowledged, failed, failedSealed, conflicted

    var operation: OutboxOperation {
      switch self {
      case .pending: OutboxOperation(state: .pending, hasPayload: false)
      case .pendingScheduled: OutboxOperation(state: .pending, hasPayload: false, isScheduled: true, retryCount: 1)
      case .sealed: OutboxOperation(state: .sealed, hasPayload: true, sendCount: 1)
      case .sealedScheduled:
        OutboxOperation(state: .sealed, hasPayload: true, isScheduled: true, retryCount: 1, sendCount: 1)
      case .inFlight: OutboxOperation(state: .inFlight, hasPayload: true, sendCount: 1)
      case .acknowledged: OutboxOperation(state: .acknowledged, hasPayload: false, sendCount: 1)
      case .failed: OutboxOperation(state: .failed, hasPayload: false, retryCount: 1)
      case .failedSealed: OutboxOperation(state: .failed, hasPayload: true, retryCount: 5, sendCount: 6)
      case .conflicted: OutboxOperation(state: .conflicted, hasPayload: false)
      }
    }

    init?(_ operation: OutboxOperation) {
      switch (operation.state, operation.isScheduled) {
      case (.pending, false): self = .pending
      case (.pending, true): self = .pendingScheduled
      case (.sealed, false): self = .sealed
      case (.sealed, true): self = .sealedScheduled
      case (.inFlight, _): self = .inFlight
      case (.acknowledged, _): self = .acknowledged
      case (.failed, _): self = operation.hasPayload ? .failedSealed : .failed
      case (.conflicted, _): self = .conflicted
      }
    }
  }

  static let events: [OutboxEvent] = [
    .sent, .unsendable, .lostResponse, .notSent(isRecordDeleted: false), .notSent(isRecordDeleted: true), .acknowledged,
    .rejected(mayBeStored: false, isRecordDeleted: false), .rejected(mayBeStored: true, isRecordDeleted: false),
    .rejected(mayBeStored: false, isRecordDeleted: true), .attemptFailed, .throttled, .outdated, .notExecuted,
    .conflicted,
    .reopened, .edited, .retried, .requeued, .conflictResolved, .due,
  ]

  /// The state after each event. A pair that is not listed changes nothing.
  static func expected(_ row: Row, _ event: OutboxEvent) -> Row? {
    switch (row, event) {
    case (.acknowledged, _): nil

    case (.pending, .sent), (.sealed, .sent): .inFlight
    case (.pending, .unsendable), (.pendingScheduled, .unsendable): .failed
    case (.sealed, .unsendable), (.sealedScheduled, .unsendable): .failedSealed
    case (.inFlight, .lostResponse): .sealed
    case (.inFlight, .notSent(isRecordDeleted: false)): .pending
    case (.inFlight, .notSent(isRecordDeleted: true)): .sealed

    case (.failed, .acknowledged), (.conflicted, .acknowledged): nil
    case (_, .acknowledged): .acknowledged

    case (_, .conflicted): .conflicted

    case (.sealed, .rejected), (.sealedScheduled, .rejected), (.inFlight, .rejected), (.failedSealed, .rejected):
      .failed
    case (.sealed, .attemptFailed), (.sealedScheduled, .attemptFailed), (.inFlight, .attemptFailed): .sealedScheduled
    // Its attempts are used up.
    case (.failedSealed, .attemptFailed), (.failedSealed, .outdated): .failedSealed
    case (.sealed, .throttled), (.sealedScheduled, .throttled), (.inFlight, .throttled), (.failedSealed, .throttled):
      .sealedScheduled
    case (.sealed, .outdated), (.inFlight, .outdated): .pending
    case (.sealedScheduled, .outdated): .pendingScheduled
    case (.sealed, .notExecuted), (.inFlight, .notExecuted), (.failedSealed, .notExecuted): .pending
    case (.sealedScheduled, .notExecuted): .pendingScheduled
    case (.sealed, .reopened), (.inFlight, .reopened), (.failedSealed, .reopened): .pending
    case (.sealedScheduled, .reopened): .pendingScheduled

    case (.failed, .edited), (.failed, .retried), (.failed, .requeued): .pending
    case (.failedSealed, .edited), (.failedSealed, .retried), (.failedSealed, .requeued): .sealed
    case (.pendingScheduled, .retried), (.pendingScheduled, .requeued), (.pendingScheduled, .due): .pending
    case (.sealedScheduled, .retried), (.sealedScheduled, .requeued), (.sealedScheduled, .due): .sealed
    case (.pending, .requeued), (.conflicted, .requeued), (.conflicted, .conflictResolved): .pending
    case (.sealed, .requeued): .sealed
    default: nil
    }
  }

  @Test("Each event has the specified effect in each state", arguments: Row.allCases)
  func everyPair(_ row: Row) {
    for event in Self.events {
      let next = row.operation.after(event)
      #expect(next.flatMap { Row($0.operation) } == Self.expected(row, event), "\(row) after \(event)")
      #expect((next == nil) == (Self.expected(row, event) == nil), "\(row) after \(event)")
    }
  }

  /// All combinations of the facts that an operation in the outbox can have.
  static let all: [OutboxOperation] = {
    var all: [OutboxOperation] = []
    for state in State.allCases {
      for kind in OperationKind.allCases {
        for (retries, sends) in [(0, 0), (0, 1), (1, 1), (4, 5), (5, 2)] {
          for flags in 0..<8 {
            let (isFollowed, isScheduled, isSealed) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
            let hasPayload = state == .sealed || state == .inFlight || state == .failed && isSealed
            if isSealed, state != .failed { continue }
            if isScheduled, state != .pending, state != .sealed { continue }
            if isFollowed, !hasPayload { continue }
            all.append(
              OutboxOperation(
                state: state, kind: kind, hasPayload: hasPayload, isFollowed: isFollowed, isScheduled: isScheduled,
                retryCount: retries, sendCount: sends))
          }
        }
      }
    }
    return all
  }()

  @Test("A transition leaves a payload, a key and one pending operation exactly where the new state has them")
  func lawsOfTransitions() {
    #expect(Self.all.count > 150)
    for operation in Self.all {
      for event in Self.events {
        guard let transition = operation.after(event) else { continue }
        let (next, effects) = (transition.operation, transition.effects)
        let pair = "\(operation) after \(event): \(next), \(effects)"
        switch next.state {
        case .sealed, .inFlight: #expect(next.hasPayload && next.hasKey, "\(pair)")
        case .pending, .acknowledged, .conflicted: #expect(!next.hasPayload, "\(pair)")
        case .failed: break
        }
        if next.state != .pending, next.state != .sealed { #expect(!next.isScheduled, "\(pair)") }
        // Otherwise the record would have two pending operations.
        if operation.isFollowed, operation.hasPayload, !next.hasPayload, next.state != .acknowledged {
          #expect(effects.contains(.absorbNext) && !next.isFollowed, "\(pair)")
        }
        #expect(operation.state != .acknowledged, "\(pair)")
        #expect(next.state != .inFlight || event == .sent, "\(pair)")
        #expect((next.sendCount > operation.sendCount) == (event == .sent), "\(pair)")
        #expect(next.retryCount <= max(next.maxRetries, operation.retryCount), "\(pair)")
        let statuses = effects.compactMap { effect -> OutboxTransition.RecordStatus? in
          if case .setRecordStatus(let status) = effect { status } else { nil }
        }
        let status: OutboxTransition.RecordStatus? =
          switch next.state {
          case .pending, .sealed: event == .due || event == .conflictResolved ? nil : .pending
          case .inFlight: .syncing
          case .failed: effects.contains(.remove) ? nil : .failed
          case .conflicted: .conflict
          case .acknowledged: nil
          }
        #expect(statuses == (status.map { [$0] } ?? []), "\(pair)")
      }
    }
  }

  @Test("Responses that send an operation again make it fail after its retries, in any order")
  func responsesEnd() {
    for start in Self.all where start.state == .pending || start.state == .sealed {
      for pattern in 0..<64 {
        var operation = start
        var sends = 0
        while operation.state == .pending || operation.state == .sealed {
          operation = operation.after(.due)?.operation ?? operation
          guard let sent = operation.after(.sent)?.operation else { break }
          sends += 1
          let event: OutboxEvent = pattern >> (sends % 6) & 1 == 0 ? .attemptFailed : .outdated
          operation = sent.after(event)?.operation ?? sent
          if sends > 20 { break }
        }
        #expect(operation.state == .failed && sends <= start.maxRetries + 1, "\(start), \(pattern): \(sends) sends")
      }
    }
  }

  @Test("A payload that may have been stored keeps its key until the server says that it has not stored it")
  func keysAreKept() {
    for operation in Self.all where operation.state == .inFlight {
      for event in [
        OutboxEvent.lostResponse, .attemptFailed, .throttled, .rejected(mayBeStored: true, isRecordDeleted: false),
      ] {
        guard let next = operation.after(event)?.operation, next.state != .acknowledged else { continue }
        #expect(next.hasKey && next.sendCount == operation.sendCount, "\(operation) after \(event)")
      }
    }
  }

  @Test("The status of a row and its payload give its state, and the state gives the status")
  func statuses() {
    for operation in Self.all {
      #expect(OutboxOperation.state(status: operation.status, hasPayload: operation.hasPayload) == operation.state)
    }
  }

  @Test("A creation that the server rejects leaves the outbox if the user deleted its record")
  func rejectedCreation() {
    for operation in Self.all where operation.state == .inFlight {
      let next = operation.after(.rejected(mayBeStored: false, isRecordDeleted: true))
      #expect(next?.effects.contains(.remove) == (operation.kind == .create), "\(operation)")
    }
  }

  @Test("A deletion stays sealed when it was not sent, because its dependents were stored with it")
  func unsentDeletions() {
    for operation in Self.all where operation.state == .inFlight {
      let next = operation.after(.notSent(isRecordDeleted: false))?.operation
      let isTakenBack = operation.kind != .delete && operation.sendCount <= 1
      #expect(next?.state == (isTakenBack ? .pending : .sealed), "\(operation)")
    }
  }
}
