/// What one client may ask of the server.
public struct ServerLimits: Sendable {
  /// The largest body of a request, in bytes.
  public var bodyBytes = 8 << 20
  /// Operations in one push.
  public var pushOperations = 25
  /// Changes in one page.
  public var pageSize = 1_000
  /// UUIDs in one request for records.
  public var recordsPerRequest = 500
  /// Requests that one token may make at once before it has to slow down.
  public var requestBurst = 1_000
  /// Requests each second that one token may make for long.
  public var requestsPerSecond = 200
  /// Connections at once.
  public var connections = 1_024
  /// Connections at once from one address.
  public var connectionsPerAddress = 512
  /// Requests that wait for a change at once.
  public var waiters = 1_000
  /// Seconds after which a connection on which nothing happens is closed.
  public var idleSeconds = 30
  /// Seconds within which a body has to have arrived.
  public var bodySeconds = 120
  /// Seconds that requests in flight have when the server stops.
  public var stopSeconds = 15

  /// The limits that `WireFormat.md` states.
  public init() {}
}
