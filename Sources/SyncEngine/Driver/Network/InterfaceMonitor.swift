/// The first layer of the network state: whether the machine has an interface. Each platform has one type.
public protocol InterfaceMonitor: Sendable {
  /// Returns the current state of the interfaces.
  func status() throws(InterfaceFailure) -> InterfaceStatus

  /// Calls `onChange` with the status after each change, without looking when nothing happens. Changes that come within
  /// 50 ms are one. To be called once; ends with the monitor, or with ``stop()``.
  func start(onChange: @escaping @Sendable (Result<InterfaceStatus, InterfaceFailure>) -> Void) throws(InterfaceFailure)

  /// Ends the calls. A running call may still finish.
  func stop()
}

/// The failure to list the network interfaces. Sync continues, because the results of requests show the state too.
public struct InterfaceFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// The name of the failed call, and its error number.
  public let description: String

  init(_ call: String, code: Int32) {
    description =
      "the system does not report network interfaces (\(call), error \(code)); each request checks the network itself"
  }
}

/// The monitor of this platform.
public func systemInterfaceMonitor() -> any InterfaceMonitor {
  #if canImport(Network)
    PathInterfaceMonitor()
  #else
    NetlinkInterfaceMonitor()
  #endif
}
