/// The bytes of bodies that were transferred.
public struct TransferCounts: Equatable, Sendable {
  /// Of requests.
  public var bytesSent: Int
  /// Of responses.
  public var bytesReceived: Int

  /// Creates counts; zero by default.
  public init(bytesSent: Int = 0, bytesReceived: Int = 0) {
    (self.bytesSent, self.bytesReceived) = (bytesSent, bytesReceived)
  }
}
