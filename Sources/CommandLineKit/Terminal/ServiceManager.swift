import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The service manager that started this process, such as systemd with `Type=notify`.
///
/// It receives datagrams of lines `NAME=VALUE` at the socket that the environment variable `NOTIFY_SOCKET` names. The
/// protocol is that of sd_notify(3).
public struct ServiceManager: Sendable, Equatable {
  /// A change of the state of this process.
  public enum State: Sendable, Equatable {
    /// The process does its work, or does it again after a reload. The text appears in `systemctl status`.
    case ready(String)
    /// The process reads its configuration again. ``ready(_:)`` follows.
    case reloading
    /// The process ends in an orderly way.
    case stopping
  }

  /// A message that could not be sent.
  public struct Failure: Error, Sendable, Equatable {
    /// The socket and the reason.
    public let message: String
  }

  /// The path of the socket, or `@` and an abstract name.
  let address: String

  /// Creates a service manager with the value of `NOTIFY_SOCKET`; `nil` if the process has none.
  public init?(address: String?) {
    guard let address, !address.isEmpty else { return nil }
    self.address = address
  }

  /// Sends a state. Does not wait for the manager to read it, unless its queue is full.
  public func notify(_ state: State) throws(Failure) {
    let message = Array(Self.text(of: state).utf8)
    let descriptor = socket(AF_UNIX, Self.datagram, 0)
    guard descriptor >= 0 else { throw failure(errno) }
    defer { close(descriptor) }
    setCloseOnExec(descriptor)
    var (place, length) = try socketAddress()
    let sent = withUnsafePointer(to: &place) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
        sendto(descriptor, message, message.count, 0, place, length)
      }
    }
    guard sent == message.count else { throw failure(errno) }
  }

  /// Returns the lines of a message.
  static func text(of state: State) -> String {
    switch state {
    case .ready(let status):
      // A line break would begin another variable.
      "READY=1\nSTATUS=\(String(status.map { $0.isNewline ? " " : $0 }))\n"
    case .reloading:
      // `Type=notify-reload` compares the time with that of its signal.
      "RELOADING=1\nMONOTONIC_USEC=\(monotonicMicroseconds())\n"
    case .stopping: "STOPPING=1\n"
    }
  }

  private func socketAddress() throws(Failure) -> (sockaddr_un, socklen_t) {
    guard address.hasPrefix("/") || address.hasPrefix("@") else { throw failure(EAFNOSUPPORT) }
    var bytes = Array(address.utf8)
    // The name of an abstract socket begins with a null byte, and its length ends it. A path ends with a null byte.
    if address.hasPrefix("@") { bytes[0] = 0 } else { bytes.append(0) }
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &place.sun_path) { target in
      guard bytes.count <= target.count else { return false }
      target.copyBytes(from: bytes)
      return true
    }
    guard fits else { throw failure(ENAMETOOLONG) }
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
    return (place, socklen_t(start + bytes.count))
  }

  private func failure(_ number: Int32) -> Failure {
    Failure(message: "cannot notify the service manager at \(escaped(address)): \(String(cString: strerror(number)))")
  }

  private static func monotonicMicroseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  #if canImport(Glibc)
    private static let datagram = Int32(SOCK_DGRAM.rawValue)
  #else
    private static let datagram = SOCK_DGRAM
  #endif
}
