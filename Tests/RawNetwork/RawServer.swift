import CipherSQL
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A server that says whatever a test wants, byte by byte, over plain sockets. Each connection has a thread.
package final class RawServer: Sendable {
  /// What a test does with a request. The connection is closed when it returns `false`.
  package typealias Behaviour = @Sendable (RawRequest, RawConnection) -> Bool

  package let port: UInt16
  private let listening: Int32
  private let behaviour: Behaviour
  private let state = Locked(State())

  private struct State {
    var connections: [Int32: RawConnection] = [:]
    var accepted = 0
    var requests: [RawRequest] = []
    var isClosed = false
  }

  package init(_ behaviour: @escaping Behaviour) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    listening = descriptor
    port = address.sin_port.bigEndian
    self.behaviour = behaviour
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(descriptor, nil, nil)
        if connection < 0 { break }
        serve(connection)
      }
      // Here and not in close(), so that no other socket gets the number while this thread still uses it.
      Glibc.close(descriptor)
    }
  }

  /// A server that sends one response to every request.
  package convenience init(response text: String) throws {
    try self.init { _, connection in connection.send(text) }
  }

  package var url: String { "http://127.0.0.1:\(port)" }
  package var accepted: Int { state.withLock(\.accepted) }
  package var requests: [RawRequest] { state.withLock(\.requests) }

  /// Ends all connections and takes no more.
  package func close() {
    let isFirst = state.withLock { state in
      defer { state.isClosed = true }
      state.connections.values.forEach { $0.shut() }
      return !state.isClosed
    }
    if isFirst { shutdown(listening, Int32(SHUT_RDWR)) }
  }

  private func serve(_ descriptor: Int32) {
    let connection = RawConnection(descriptor: descriptor)
    let isClosed = state.withLock { state in
      state.connections[descriptor] = connection
      state.accepted += 1
      return state.isClosed
    }
    if isClosed { connection.shut() }
    Thread.detachNewThread { [self] in
      while let request = connection.readRequest() {
        state.withLock { $0.requests.append(request) }
        if !behaviour(request, connection) { break }
      }
      state.withLock { $0.connections[descriptor] = nil }
      connection.shut()
      Glibc.close(descriptor)
    }
  }
}

/// What a test server was asked.
package struct RawRequest: Sendable {
  package var line: String
  package var headers: [String: String]
  package var body: [UInt8]
}

/// One connection of a test server.
package struct RawConnection: Sendable {
  package let descriptor: Int32

  /// False when the other side is gone.
  @discardableResult
  package func send(_ bytes: some Collection<UInt8>) -> Bool {
    let bytes = Array(bytes)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  @discardableResult
  package func send(_ text: String) -> Bool { send(text.utf8) }

  package func shut() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Closes so that the other side sees a reset.
  package func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
  }

  package func readRequest() -> RawRequest? {
    var bytes: [UInt8] = []
    let end = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    while headEnd == nil {
      guard let more = read() else { return nil }
      let from = max(bytes.count - 3, 0)
      bytes += more
      headEnd = (from..<max(bytes.count - 3, from)).first { Array(bytes[$0..<$0 + 4]) == end }.map { $0 + 4 }
    }
    guard let headEnd else { return nil }
    let lines = String(decoding: bytes[..<(headEnd - 4)], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
    }
    if headers["expect"] != nil { send("HTTP/1.1 100 Continue\r\n\r\n") }
    let length = headers["content-length"].flatMap(Int.init) ?? 0
    while bytes.count < headEnd + length {
      guard let more = read() else { return nil }
      bytes += more
    }
    return RawRequest(line: lines[0], headers: headers, body: Array(bytes[headEnd...]))
  }

  private func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }
}
