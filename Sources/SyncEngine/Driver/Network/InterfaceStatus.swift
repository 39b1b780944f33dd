/// The state of the network interfaces of this machine.
public struct InterfaceStatus: Equatable, Sendable {
  /// Whether an interface is up, runs, and has an address that other machines can reach. The loopback interface does
  /// not count.
  public var hasInterface: Bool
  /// Whether data costs nothing extra, as far as the system knows.
  public var isUnmetered: Bool
  /// Names and addresses, sorted. Another network has another text, even if nothing else differs.
  public var addresses: [String]

  /// A status.
  public init(hasInterface: Bool, isUnmetered: Bool, addresses: [String] = []) {
    self.hasInterface = hasInterface
    self.isUnmetered = isUnmetered
    self.addresses = addresses
  }
}
