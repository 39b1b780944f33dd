/// The state of the network interfaces of this machine.
public struct InterfaceStatus: Equatable, Sendable {
  /// Whether an interface is up, runs, and has an address that other machines can reach. The loopback interface does
  /// not count.
  public var hasInterface: Bool
  /// Whether the network is unmetered, as far as the system knows.
  public var isUnmetered: Bool
  /// The names and addresses of the interfaces, sorted. The text differs between networks, even if nothing else
  /// differs.
  public var addresses: [String]

  /// Creates a status.
  public init(hasInterface: Bool, isUnmetered: Bool, addresses: [String] = []) {
    self.hasInterface = hasInterface
    self.isUnmetered = isUnmetered
    self.addresses = addresses
  }
}
