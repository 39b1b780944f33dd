#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A socket at which a service manager receives the states of its services.
package final class NotificationSocket {
  private let descriptor: Int32

  /// The messages received so far.
  package private(set) var messages: [String] = []

  /// Listens at a path, or at an abstract name that begins with `@`.
  package init(at address: String) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    #else
      descriptor = socket(AF_UNIX, SOCK_DGRAM, 0)
    #endif
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(address.utf8)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: bytes) }
    if address.hasPrefix("@") { place.sun_path.0 = 0 }
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    let length = socklen_t(start + bytes.count + (address.hasPrefix("@") ? 0 : 1))
    let isBound = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
    }
    guard isBound else { throw Unexpected("cannot bind \(address): \(String(cString: strerror(errno)))") }
  }

  deinit { close(descriptor) }

  /// Returns all messages so far, with those that have arrived since the last call.
  package func received() -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      guard count >= 0 else { return messages }
      messages.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}
