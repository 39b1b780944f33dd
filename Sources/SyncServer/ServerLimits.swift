/// What one client may ask of the server.
public struct ServerLimits: Sendable {
  /// The largest body of a request, in bytes.
  public var bodyBytes = 8 << 20
  /// Operations in one push.
  public var pushOperations = 25
  /// Changes in one page.
  public var pageSize = 1_000

  /// The limits that `WireFormat.md` states.
  public init() {}
}
