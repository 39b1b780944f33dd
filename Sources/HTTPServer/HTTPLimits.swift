/// The limits of connections and bodies.
public struct HTTPLimits: Sendable {
  /// The largest body of a request, in bytes.
  public var bodyBytes = 8 << 20
  /// The greatest number of concurrent connections.
  public var connections = 1_024
  /// The greatest number of concurrent connections from one address.
  public var connectionsPerAddress = 512
  /// The time in which a connection has to complete the header of its first request, including the TLS handshake.
  public var headerTime = Duration.seconds(10)
  /// The greatest number of connections without a valid token that wait for a header. A further connection replaces the
  /// oldest one.
  public var waitingConnections = 384
  /// The greatest number of such connections from one address.
  public var waitingConnectionsPerAddress = 128
  /// The memory of all bodies that are being read or sent, in bytes.
  public var bodyMemoryBytes = 256 << 20
  /// The memory of all bodies of one user that are being read or sent, in bytes.
  public var bodyMemoryBytesPerUser = 32 << 20
  /// The interval at which the server checks for connections that wait too long, disconnected clients, and revoked
  /// tokens.
  public var watchInterval = Duration.seconds(1)
  /// The seconds after which an idle connection is closed.
  public var idleSeconds = 30
  /// The seconds within which a body has to arrive.
  public var bodySeconds = 120
  /// The minimum rate of a streamed body in bytes per second, after the time that any other body may take.
  public var streamBytesPerSecond = 256
  /// The seconds that requests in flight have to finish when the server stops.
  public var stopSeconds = 15

  /// The default limits.
  public init() {}

  /// The limits of an address for a few programs of the operator.
  package static var admin: HTTPLimits {
    var limits = HTTPLimits()
    (limits.connections, limits.connectionsPerAddress) = (32, 32)
    (limits.waitingConnections, limits.waitingConnectionsPerAddress) = (16, 16)
    (limits.bodyBytes, limits.bodyMemoryBytes, limits.bodyMemoryBytesPerUser) = (1 << 10, 1 << 16, 1 << 16)
    return limits
  }

  /// The number of threads that read and write. For each event, libmicrohttpd looks at every connection of a thread.
  var threads: Int { min(max(4, connections / 128), 32) }
}
