/// Bytes of bodies that went over the network.
public struct TransferCounts: Equatable, Sendable {
  /// Of requests.
  public var bytesSent: Int
  /// Of answers.
  public var bytesReceived: Int

  /// By default none.
  public init(bytesSent: Int = 0, bytesReceived: Int = 0) {
    (self.bytesSent, self.bytesReceived) = (bytesSent, bytesReceived)
  }
}
