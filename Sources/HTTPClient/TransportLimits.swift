/// The timeouts and the size limit of a transport.
public struct TransportLimits: Equatable, Sendable {
  /// For the server's name, the connection and its encryption together, in seconds. On Apple's systems `idleSeconds`
  /// counts for these.
  public var connectSeconds: Double = 15
  /// The timeout without any bytes from the server, in seconds: before the response, and between two parts of it. A
  /// long poll extends the first.
  public var idleSeconds: Double = 30
  /// For one request from its beginning to its end, in seconds.
  public var wholeSeconds: Double = 300
  /// The limit of a response's body, in bytes after decompression. A longer body is cut there.
  public var bodyBytes: Int = 64 << 20
  /// For a ``TokenProvider`` to return a token, in seconds.
  public var tokenSeconds: Double = 75

  /// The usual limits: 15 s, 30 s, 300 s, 64 MiB and 75 s.
  public init() {}
}
