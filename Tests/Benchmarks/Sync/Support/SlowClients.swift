import CipherSQL
import Foundation

/// Connections that send a request header byte by byte, from some addresses of this machine. A connection that the server closes is
/// opened again.
final class SlowClients: Sendable {
  private struct State {
    var isRunning = true
    var opened = 0
    var open = 0
  }

  private let state = Locked(State())
  private let port: UInt16
  private static let header = Array(
    ("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + String(repeating: "x", count: 999)).utf8)

  /// - Parameters:
  ///   - count: the number of connections.
  ///   - addresses: the number of their addresses, without 127.0.0.1.
  ///   - pause: the time between two bytes of a connection, in seconds.
  init(_ count: Int, from addresses: Int, to port: UInt16, pause: Double) {
    self.port = port
    Thread.detachNewThread { [self] in run(count, addresses, pause) }
  }

  func stop() { state.withLock { $0.isRunning = false } }

  /// How many connections were opened so far, and how many of them the server has not closed.
  var counts: (opened: Int, open: Int) { state.withLock { ($0.opened, $0.open) } }

  private struct Connection {
    var descriptor: Int32 = -1
    var sent = 0
    var next = 0.0
  }

  private func run(_ count: Int, _ addresses: Int, _ pause: Double) {
    var connections = [Connection](repeating: Connection(), count: count)
    let start = ContinuousClock.now
    while state.withLock({ $0.isRunning }) {
      let now = (ContinuousClock.now - start).inSeconds
      for index in connections.indices where connections[index].next <= now {
        send(&connections[index], from: UInt32(index % addresses), at: now, pause: pause)
      }
      let open = connections.count { $0.descriptor >= 0 }
      state.withLock { $0.open = open }
      Thread.sleep(forTimeInterval: 0.05)
    }
    for connection in connections where connection.descriptor >= 0 { close(connection.descriptor) }
  }

  private func send(_ connection: inout Connection, from address: UInt32, at now: Double, pause: Double) {
    if connection.descriptor < 0 {
      connection.descriptor = open(from: address)
      guard connection.descriptor >= 0 else {
        connection.next = now + 1
        return
      }
      connection.sent = 0
      state.withLock { $0.opened += 1 }
    }
    connection.next = now + pause
    var byte: UInt8 = 0
    // The server has closed the connection or responded.
    let isOver = recv(connection.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) >= 0
    let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
    if isOver || Glibc.send(connection.descriptor, [Self.header[connection.sent]], 1, flags) != 1 {
      close(connection.descriptor)
      connection.descriptor = -1
      connection.next = now
    } else {
      connection.sent = (connection.sent + 1) % Self.header.count
    }
  }

  /// - Returns: -1 when the server takes no connection.
  private func open(from address: UInt32) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    let isOpen =
      Self.withAddress(0x7F00_0002 + address, 0) { bind(descriptor, $0, $1) == 0 }
      && Self.withAddress(0x7F00_0001, port) { connect(descriptor, $0, $1) == 0 }
    if isOpen { return descriptor }
    close(descriptor)
    return -1
  }

  private static func withAddress<Result>(
    _ address: UInt32, _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var value = sockaddr_in()
    value.sin_family = sa_family_t(AF_INET)
    value.sin_port = port.bigEndian
    value.sin_addr.s_addr = address.bigEndian
    return withUnsafePointer(to: &value) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}

/// Lets this process have so many connections.
func allowDescriptors(for connections: Int) throws {
  var limit = rlimit()
  let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  guard getrlimit(kind, &limit) == 0 else { throw BenchmarkFailure("the limit of open files is not known") }
  limit.rlim_cur = limit.rlim_max
  guard limit.rlim_max > 900 + connections, setrlimit(kind, &limit) == 0 else {
    throw BenchmarkFailure("\(connections) connections need more open files than \(limit.rlim_max)")
  }
}
