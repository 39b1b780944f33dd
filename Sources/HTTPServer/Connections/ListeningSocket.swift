import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A listening socket. It is opened without the HTTP library, which would not report the reason of a failure.
struct ListeningSocket {
  let descriptor: Int32
  /// The address of the socket, with the port that the system chose for port 0: `127.0.0.1:8787`, `[::1]:8787`.
  let address: String

  /// Listens on `HOST:PORT`, `[HOST]:PORT` or `:PORT`.
  init(_ text: String) throws(HTTPServerError) {
    guard let (host, port) = Self.parts(of: text) else {
      throw HTTPServerError(
        .cannotListen, "'\(text)' is not an address", hint: "use an address such as 127.0.0.1:8787 or [::1]:8787")
    }
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_family = host.isEmpty ? AF_INET : AF_UNSPEC
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host.isEmpty ? nil : host, String(port), &hints, &found)
    guard result == 0, let found else {
      throw HTTPServerError(.cannotListen, "cannot listen on \(text): \(String(cString: gai_strerror(result)))")
    }
    defer { freeaddrinfo(found) }
    descriptor = socket(found.pointee.ai_family, found.pointee.ai_socktype, found.pointee.ai_protocol)
    guard descriptor >= 0 else { throw Self.failure(text) }
    _ = cplatform_fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // A server that was just stopped leaves connections behind for which the system keeps the address a while.
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, listen(descriptor, 512) == 0 else {
      let error = Self.failure(text)
      close(descriptor)
      throw error
    }
    address = Self.name(of: descriptor) ?? text
  }

  /// Checks that this process could listen on an address at this moment.
  static func check(_ text: String) throws(HTTPServerError) { close(try ListeningSocket(text).descriptor) }

  private static func parts(of text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { return (String(host.dropFirst().dropLast()), port) }
    return host.contains(":") ? nil : (String(host), port)
  }

  private static func failure(_ text: String) -> HTTPServerError {
    let reason = errno
    switch reason {
    case EADDRINUSE:
      return HTTPServerError(.addressInUse, "cannot listen on \(text): the address is in use")
    case EADDRNOTAVAIL:
      return HTTPServerError(.cannotListen, "cannot listen on \(text): this machine does not have the address")
    case EACCES:
      return HTTPServerError(
        .cannotListen, "cannot listen on \(text): permission denied", hint: "use a port from 1024 on")
    default:
      return HTTPServerError(.cannotListen, "cannot listen on \(text): \(String(cString: strerror(reason)))")
    }
  }

  /// Returns the address of a socket as text.
  private static func name(of descriptor: Int32) -> String? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: 256)
    var port = [CChar](repeating: 0, count: 32)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        guard getsockname(descriptor, address, &length) == 0 else { return -1 }
        return getnameinfo(
          address, length, &host, socklen_t(host.count), &port, socklen_t(port.count), NI_NUMERICHOST | NI_NUMERICSERV)
      }
    }
    guard result == 0 else { return nil }
    let name = Self.text(host)
    return (name.contains(":") ? "[\(name)]" : name) + ":" + Self.text(port)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
