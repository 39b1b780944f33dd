import CMicroHTTPD
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Ends connections that libmicrohttpd would keep: connections that ``ConnectionTable`` names, and connections whose
/// token was revoked.
///
/// The library reports when it has accepted a connection and before it closes the socket. In between any thread may
/// shut the socket down. The library then finds its end and closes it.
final class ConnectionMonitor: Sendable {
  private struct State {
    var table: ConnectionTable
    var sockets: [UInt: Int32] = [:]
  }

  private let state: Locked<State>
  private let clock: Clock

  init(_ limits: ConnectionTable.Limits, clock: Clock) {
    state = Locked(State(table: ConnectionTable(limits)))
    self.clock = clock
  }

  static func id(of connection: OpaquePointer) -> UInt { UInt(bitPattern: connection) }

  func opened(_ connection: OpaquePointer) {
    let (id, socket) = (Self.id(of: connection), cmicrohttpd_socket(connection))
    let address = cmicrohttpd_address(connection)
    state.withLock { state in
      state.sockets[id] = socket
      for closing in state.table.opened(id, from: address, at: clock.instant()) { Self.shut(closing, in: state) }
    }
  }

  /// Removes a connection before its socket is closed.
  func closed(_ connection: OpaquePointer) {
    let id = Self.id(of: connection)
    state.withLock { state in
      state.table.closed(id)
      state.sockets[id] = nil
    }
  }

  func began(_ connection: OpaquePointer) { state.withLock { $0.table.began(Self.id(of: connection)) } }

  func ended(_ connection: OpaquePointer, isKnown: Bool) {
    state.withLock { state in
      for closing in state.table.ended(Self.id(of: connection), isKnown: isKnown, at: clock.instant()) {
        Self.shut(closing, in: state)
      }
    }
  }

  /// Ends the connections that have waited too long for a header.
  func endLate() {
    state.withLock { state in
      for id in state.table.expired(at: clock.instant()) { Self.shut(id, in: state) }
    }
  }

  /// Ends a connection in any state.
  func end(_ id: UInt) { state.withLock { Self.shut(id, in: $0) } }

  private static func shut(_ id: UInt, in state: borrowing State) {
    guard let socket = state.sockets[id], socket >= 0 else { return }
    shutdown(socket, Int32(SHUT_RDWR))
  }
}
