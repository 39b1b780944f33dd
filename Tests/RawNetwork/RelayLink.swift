import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A link to a server whose bytes pass through two functions, one for each direction.
package final class RelayLink: Sendable {
  /// Is asked before bytes are passed on, and may wait. It returns how many of them may pass; a number below one says how many are the
  /// last ones (as a negative number), and ends the connection.
  package typealias Gate = (_ count: Int) -> Int

  package let port: UInt16
  private let target: UInt16
  private let listening: Int32
  private let partBytes: Int
  private let gates: @Sendable () -> (toServer: Gate, toClient: Gate)

  /// - Parameters:
  ///   - partBytes: how many bytes are passed on at once, at most.
  ///   - gates: what each new connection passes through.
  package init(
    to target: UInt16, partBytes: Int = 65_536, gates: @escaping @Sendable () -> (toServer: Gate, toClient: Gate)
  ) throws {
    (self.target, self.partBytes, self.gates) = (target, partBytes, gates)
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listening, address, length) == 0 && listen(listening, 64) == 0
          && getsockname(listening, address, &length) == 0
      }
    }
    guard bound else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    (self.listening, port) = (listening, address.sin_port.bigEndian)
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listening, nil, nil)
        if client < 0 { return }
        Thread.detachNewThread { [self] in serve(client) }
      }
    }
  }

  package func close() { shutdown(listening, Int32(SHUT_RDWR)) }

  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private func serve(_ client: Int32) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.address(target)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if connected {
      let (ended, partBytes, gates) = (DispatchSemaphore(value: 0), partBytes, gates)
      Thread.detachNewThread {
        Self.pass(server, client, partBytes, gates().toClient)
        ended.signal()
      }
      Self.pass(client, server, partBytes, gates().toServer)
      ended.wait()
    }
    Glibc.close(client)
    Glibc.close(server)
  }

  /// Passes bytes on until an end.
  static func pass(_ from: Int32, _ to: Int32, _ partBytes: Int, _ gate: Gate) {
    var buffer = [UInt8](repeating: 0, count: partBytes)
    while true {
      let count = recv(from, &buffer, buffer.count, 0)
      if count <= 0 { break }
      let passing = gate(count)
      guard RawConnection(descriptor: to).send(buffer[..<abs(passing)]), passing > 0 else { break }
    }
    for end in [from, to] { shutdown(end, Int32(SHUT_RDWR)) }
  }
}
