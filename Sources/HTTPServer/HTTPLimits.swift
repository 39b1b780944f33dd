/// The limits of connections and bodies.
public struct HTTPLimits: Sendable {
  /// The largest body of a request, in bytes.
  public var bodyBytes = 8 << 20
  /// Connections at once.
  public var connections = 1_024
  /// Connections at once from one address.
  public var connectionsPerAddress = 512
  /// How long a connection may take from its beginning, TLS handshake included, until the header of its first request is
  /// complete.
  public var headerTime = Duration.seconds(10)
  /// Connections without a valid token that may wait for a header at once; a further one takes the place of the oldest.
  public var waitingConnections = 384
  /// The same of one address.
  public var waitingConnectionsPerAddress = 128
  /// The memory of all bodies that are being read or sent, in bytes.
  public var bodyMemoryBytes = 256 << 20
  /// The same of one user.
  public var bodyMemoryBytesPerUser = 32 << 20
  /// The interval at which the server checks for connections that wait too long, disconnected clients, and revoked
  /// tokens.
  public var watchInterval = Duration.seconds(1)
  /// Seconds after which a connection on which nothing happens is closed.
  public var idleSeconds = 30
  /// Seconds within which a body has to have arrived.
  public var bodySeconds = 120
  /// The minimum rate of a streamed body in bytes per second, after the time that any other body may take.
  public var streamBytesPerSecond = 256
  /// Seconds that requests in flight have when the server stops.
  public var stopSeconds = 15

  /// The usual limits.
  public init() {}
}
