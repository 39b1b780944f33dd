import CipherSQL
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A link to a server of which each connection is cut after so many bytes from the client, as long as cuts are left.
package final class CuttingLink: Sendable {
  private struct State {
    var cuts: Int
    var done = 0
    var random: SystemRandomNumberGenerator
    var open: Set<Int32> = []
  }

  package let port: UInt16
  private let target: UInt16
  private let listening: Int32
  private let greatest: Int
  private let state: Locked<State>

  package init(to target: UInt16, cuts: Int, greatest: Int) throws {
    (self.target, self.greatest) = (target, greatest)
    state = Locked(State(cuts: cuts, random: SystemRandomNumberGenerator()))
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

  package var cutsDone: Int { state.withLock(\.done) }

  package func close() { shutdown(listening, Int32(SHUT_RDWR)) }

  private static func address(_ port: UInt16) -> sockaddr_in {
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
      let back = Thread { Self.pass(server, client) { $0 } }
      back.start()
      // A request without a body stays below this, so that what is cut is an upload.
      var left = state.withLock { Int.random(in: 1_500...1_500 + greatest, using: &$0.random) }
      Self.pass(client, server) { [self] count in
        left -= count
        guard left <= 0, takeCut() else { return count }
        // Some of the last bytes get through.
        return -max(0, count + left)
      }
      while !back.isFinished { usleep(1_000) }
    }
    Glibc.close(client)
    Glibc.close(server)
  }

  private func takeCut() -> Bool {
    state.withLock { state in
      guard state.cuts > 0 else { return false }
      state.cuts -= 1
      state.done += 1
      return true
    }
  }

  /// Passes bytes on until an end, or until `allowed` says by a number below one how many still may pass.
  private static func pass(_ from: Int32, _ to: Int32, _ allowed: (Int) -> Int) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(from, &buffer, buffer.count, 0)
      if count <= 0 { break }
      let passing = allowed(count)
      guard RawConnection(descriptor: to).send(buffer[..<abs(passing)]), passing > 0 else { break }
    }
    for end in [from, to] { shutdown(end, Int32(SHUT_RDWR)) }
  }
}
