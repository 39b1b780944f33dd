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
  /// How long a connection may take from its beginning, TLS handshake included, until the header of its first request is
  /// complete.
  public var headerTime = Duration.seconds(10)
  /// Connections without a valid token that may wait for a header at once; a further one takes the place of the oldest.
  public var waitingConnections = 384
  /// The same of one address.
  public var waitingConnectionsPerAddress = 128
  /// Memory of all bodies that are being read or answered, in bytes.
  public var bodyMemoryBytes = 256 << 20
  /// The same of one user.
  public var bodyMemoryBytesPerUser = 32 << 20
  /// How often the server looks for connections that wait too long, clients that have gone, and tokens that are not valid any
  /// more.
  public var watchInterval = Duration.seconds(1)
  /// Requests that wait for a change at once.
  public var waiters = 1_000
  /// Seconds after which a connection on which nothing happens is closed.
  public var idleSeconds = 30
  /// Seconds within which a body has to have arrived.
  public var bodySeconds = 120
  /// The largest file, in bytes.
  public var fileBytes: Int64 = 10 << 30
  /// What the files of one user may take, in bytes.
  public var quotaBytes: Int64 = 100 << 30
  /// What files may be that are sent to an object store; what is sent to the server itself is bytes.
  public var contentTypes = ContentTypes.usual
  /// Seconds after which an upload that got no bytes is given up.
  public var uploadSeconds = 7 * 86_400
  /// Uploads of one user that may get bytes at once.
  public var uploadsAtOnce = 64
  /// Bytes each second that an upload has to bring, once it has taken as long as any other body may.
  public var uploadBytesPerSecond = 256
  /// Requests about files that one user may make at once, and each second for long. They are counted apart from those
  /// about records, so that neither keeps the other waiting.
  public var fileRequestBurst = 5_000
  /// See ``fileRequestBurst``.
  public var fileRequestsPerSecond = 1_000
  /// Seconds that requests in flight have when the server stops.
  public var stopSeconds = 15

  /// The limits that `WireFormat.md` and `FileEndpoints.md` state.
  public init() {}
}
