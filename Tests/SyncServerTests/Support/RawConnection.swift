import Foundation
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A connection on which a test sends exact bytes.
final class RawConnection: Sendable {
  private let descriptor: Int32

  init(to url: String) throws {
    guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Unexpected("no port: \(url)") }
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw Unexpected("cannot connect") }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Sends a text; false when the other side has closed.
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends bytes; false when the other side has closed.
  func send(_ bytes: [UInt8]) -> Bool {
    #if canImport(Glibc)
      return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    #else
      return Foundation.send(descriptor, bytes, bytes.count, 0) == bytes.count
    #endif
  }

  /// Ends the connection on both sides.
  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Reads until the other side closes or is silent for a while. It waits on a thread of its own, because the server
  /// in the same process needs the threads of tasks.
  func receive() async -> String { String(decoding: await receiveBytes(), as: UTF8.self) }

  /// Sends on that thread, then reads bytes.
  /// - Parameter request: bytes that exceed the buffers of the system wait there for the other side.
  func receiveBytes(sending request: [UInt8] = []) async -> [UInt8] {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        if !request.isEmpty { _ = send(request) }
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
          let count = recv(descriptor, &part, part.count, 0)
          if count <= 0 { return continuation.resume(returning: all) }
          all += part.prefix(count)
        }
      }
    }
  }
}
