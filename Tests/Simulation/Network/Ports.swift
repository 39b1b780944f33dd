import Glibc
import TestSupport

enum Ports {
  /// Binds a socket to a port of this machine; 0 lets the system choose.
  static func bind(_ descriptor: Int32, to port: UInt16 = 0) throws -> UInt16 {
    guard withLoopback(port, { Glibc.bind(descriptor, $0, $1) }) == 0 else {
      throw Unexpected("bind: \(String(cString: strerror(errno)))")
    }
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// A port for a server that restarts on it: below the ports that the system assigns to connections, which could
  /// occupy it while the server is down.
  static func free() throws -> UInt16 {
    for _ in 0..<100 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      if let port = try? bind(descriptor, to: UInt16.random(in: 20_000..<30_000)) { return port }
    }
    throw Unexpected("no port is free")
  }
}
