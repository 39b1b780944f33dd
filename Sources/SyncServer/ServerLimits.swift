/// The limits of a client.
public struct ServerLimits: Sendable {
  /// The largest body of a request, in bytes.
  public var bodyBytes = 8 << 20
  /// Operations in one push.
  public var pushOperations = 25
  /// Changes in one page.
  public var pageSize = 1_000
  /// UUIDs in one request for records.
  public var recordsPerRequest = 500
  /// The burst of requests per token, before requests are limited.
  public var requestBurst = 1_000
  /// The sustained requests per second and token.
  public var requestsPerSecond = 200
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
  /// Requests that wait for a change at once.
  public var waiters = 1_000
  /// Seconds after which a connection on which nothing happens is closed.
  public var idleSeconds = 30
  /// Seconds within which a body has to have arrived.
  public var bodySeconds = 120
  /// The largest file, in bytes.
  public var fileBytes: Int64 = 10 << 30
  /// The quota of the files of one user, in bytes.
  public var quotaBytes: Int64 = 100 << 30
  /// The media types of files that are sent to an object store. Files that are sent to the server itself are bytes.
  public var contentTypes = ContentTypes.usual
  /// Seconds after which an upload that got no bytes is given up.
  public var uploadSeconds = 7 * 86_400
  /// Uploads of one user that may get bytes at once.
  public var uploadsAtOnce = 64
  /// The minimum rate of an upload in bytes per second, after the time that any other body may take.
  public var uploadBytesPerSecond = 256
  /// The burst of requests about files per user, and the sustained requests per second. They are counted separately
  /// from those about records, so that neither delays the other.
  public var fileRequestBurst = 5_000
  /// See ``fileRequestBurst``.
  public var fileRequestsPerSecond = 1_000
  /// Seconds that requests in flight have when the server stops.
  public var stopSeconds = 15

  /// The limits that `WireFormat.md` and `FileEndpoints.md` state.
  public init() {}
}
