import CipherSQL
import Glibc

/// A connected TCP socket on this machine.
final class SocketStream: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// Returns `nil` if no server listens there.
  convenience init?(connectingTo port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    let isConnected = withLoopback(port) { connect(descriptor, $0, $1) == 0 }
    guard isConnected else {
      close(descriptor)
      return nil
    }
    self.init(descriptor)
  }

  /// Ends both directions, so that readers and writers notice it at once.
  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Some bytes; nil at the end.
  func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  /// Whether all of it could be written.
  @discardableResult
  func write(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// One HTTP message with its body; `nil` if the connection ends before. Later bytes stay in `rest`.
  func message(_ rest: inout [UInt8]) -> [UInt8]? {
    while true {
      if let length = HTTPText.length(of: rest), rest.count >= length {
        let message = Array(rest[..<length])
        rest.removeFirst(length)
        return message
      }
      guard let more = read() else { return nil }
      rest += more
    }
  }
}

/// Calls with the address of a port of this machine.
func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}

/// The parts of HTTP that the proxy needs.
enum HTTPText {
  /// The length of the message at the beginning of some bytes, as its head says it; nil when the head is not complete.
  static func length(of bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    let end = Array("\r\n\r\n".utf8)
    guard let blank = (0...(bytes.count - 4)).first(where: { Array(bytes[$0..<$0 + 4]) == end }) else { return nil }
    let head = String(decoding: bytes[..<blank], as: UTF8.self).lowercased()
    let line = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
    let count = line.flatMap { Int($0.dropFirst("content-length:".count).filter { $0 != " " }) } ?? 0
    return blank + 4 + count
  }

  static func response(_ status: String, _ headers: [String], _ body: String) -> [UInt8] {
    let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }
}
