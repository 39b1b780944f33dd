/// What the network interfaces of this machine are like.
public struct InterfaceStatus: Equatable, Sendable {
  /// Whether one of them is up, runs, and has an address by which others can be reached. The loopback is none.
  public var hasInterface: Bool
  /// Whether data costs nothing extra, as far as the system knows.
  public var isUnmetered: Bool
  /// Names and addresses, ordered: another network is another text even where nothing else differs.
  public var addresses: [String]

  /// A status.
  public init(hasInterface: Bool, isUnmetered: Bool, addresses: [String] = []) {
    self.hasInterface = hasInterface
    self.isUnmetered = isUnmetered
    self.addresses = addresses
  }
}
