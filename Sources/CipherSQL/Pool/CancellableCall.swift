import CSQLCipher

/// A call that runs on a connection and that another thread may cancel.
///
/// The interrupt is given under the same lock under which the call begins and ends, so that it can never hit
/// the connection's next user.
final class CancellableCall: Sendable {
  private enum Phase: Sendable {
    case waiting
    case running(Interrupt)
    case over
  }

  /// `sqlite3_interrupt` is documented as safe to call from another thread while the connection is open, which
  /// it is during a call; hence `@unchecked Sendable`.
  private struct Interrupt: @unchecked Sendable {
    let handle: OpaquePointer
  }

  private let phase = Locked(Phase.waiting)
  private let mark = Cancellation()

  var isCancelled: Bool { mark.isCancelled.load(ordering: .acquiring) }

  func begin(on connection: Connection) throws {
    if isCancelled { throw CancellationError() }
    let interrupt = Interrupt(handle: connection.handle)
    phase.withLock { $0 = .running(interrupt) }
    connection.cancellation = mark
  }

  func end(on connection: Connection) {
    phase.withLock { $0 = .over }
    connection.cancellation = nil
  }

  func cancel() {
    phase.withLock { phase in
      mark.isCancelled.store(true, ordering: .releasing)
      if case .running(let interrupt) = phase { sqlite3_interrupt(interrupt.handle) }
    }
  }
}
