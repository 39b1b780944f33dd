import Platform

#if os(Linux)
  import CPlatform
  import CipherSQL
  import Foundation
  import Glibc

  /// The interfaces of Linux: the kernel reports changes through a netlink socket, and getifaddrs(3) lists the
  /// interfaces.
  ///
  /// A thread blocks on the socket, and on a socket pair whose other end is closed to stop it.
  final class NetlinkInterfaceMonitor: InterfaceMonitor {
    typealias Listener = @Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void

    /// The end of the pair that is closed to stop the thread; `nil` while nothing is watched.
    private let stopper = Locked<Int32?>(nil)

    deinit { stop() }

    func status() throws(InterfaceFailure) -> InterfaceStatus { try Self.status() }

    private static func status() throws(InterfaceFailure) -> InterfaceStatus {
      let addresses = try LinuxInterfaces.addresses()
      return InterfaceStatus(
        hasInterface: !addresses.isEmpty, isUnmetered: LinuxInterfaces.isUnmetered(), addresses: addresses)
    }

    func start(onChange: @escaping Listener) throws(InterfaceFailure) {
      let events = cplatform_open_route_events()
      guard events >= 0 else { throw InterfaceFailure("netlink", code: errno) }
      var pair: [Int32] = [-1, -1]
      guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
        let code = errno
        close(events)
        throw InterfaceFailure("socketpair", code: code)
      }
      let (near, far) = (pair[0], pair[1])
      let first: InterfaceStatus
      do throws(InterfaceFailure) {
        // After the socket is open, so that no change falls between, and before the caller can look itself.
        first = try status()
      } catch {
        for descriptor in [events, near, far] { close(descriptor) }
        throw error
      }
      stop()
      stopper.withLock { $0 = far }
      let thread = Thread {
        Self.watch(events, until: near, from: first, onChange)
        close(events)
        close(near)
      }
      thread.name = "fieldvault-net"
      // It calls little; the usual 8 MiB would only be address space, but that counts where memory is limited.
      thread.stackSize = 256 << 10
      thread.start()
    }

    func stop() {
      let far = stopper.withLock { stopper in
        defer { stopper = nil }
        return stopper
      }
      if let far { close(far) }
    }

    private static func watch(_ events: Int32, until stop: Int32, from first: InterfaceStatus, _ onChange: Listener) {
      var last = first
      while true {
        let ready = cplatform_wait_readable(events, stop)
        if ready < 0, errno == EINTR { continue }
        if ready < 0 { return onChange(.failure(InterfaceFailure("poll", code: errno))) }
        if ready & 2 != 0 { return }
        // One change comes as many messages: a link, its addresses, its routes.
        usleep(50_000)
        if cplatform_drain_route_events(events) < 0 {
          return onChange(.failure(InterfaceFailure("netlink", code: errno)))
        }
        do throws(InterfaceFailure) {
          let status = try status()
          if last != status { onChange(.success(status)) }
          last = status
        } catch {
          onChange(.failure(error))
        }
      }
    }
  }
#endif
