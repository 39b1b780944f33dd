import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Sockets between processes of one machine. The sockets are nonblocking, and no child inherits them.
package enum LocalSocket {
  /// Listens at a free path, with mode 0600.
  /// - Throws: ``FileError`` for an existing path, or a path that is too long for a socket (about 100 bytes).
  package static func listen(at path: String) throws(FileError) -> Int32 {
    let descriptor = cplatform_listen_local(path)
    guard descriptor >= 0 else { throw .last("listen at", path) }
    guard chmod(path, 0o600) == 0 else {
      let failure = FileError.last("set the mode of", path)
      close(descriptor)
      throw failure
    }
    return descriptor
  }

  /// Connects to a socket; `nil` if no process listens there, or if too many connections wait for it.
  package static func connect(to path: String) -> Int32? {
    let descriptor = cplatform_connect_local(path)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Accepts a connection; `nil` if none waits.
  package static func accept(from listener: Int32) -> Int32? {
    let descriptor = cplatform_accept_local(listener)
    return descriptor >= 0 ? descriptor : nil
  }

  /// Returns the user that runs the process at the other end; `nil` if the system does not report the user.
  package static func peerUser(of descriptor: Int32) -> UInt32? {
    var user: UInt32 = 0
    return cplatform_peer_user(descriptor, &user) == 0 ? user : nil
  }

  /// Waits until a descriptor is readable or at its end. Returns `false` after the time, in milliseconds.
  package static func waitReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let end = ContinuousClock.now + .milliseconds(Int(milliseconds))
    while true {
      let rest = (end - .now) / .milliseconds(1)
      let ready = poll(&one, 1, Int32(max(0, rest.rounded(.up))))
      if ready >= 0 { return ready > 0 }
      guard errno == EINTR else { return false }
    }
  }
}
