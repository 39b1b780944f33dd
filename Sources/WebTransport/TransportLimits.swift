/// How long and how much a transport waits for.
public struct TransportLimits: Equatable, Sendable {
  /// For the server's name, the connection and its encryption together, in seconds. On Apple's systems `idleSeconds`
  /// counts for these.
  public var connectSeconds: Double = 15
  /// Without anything from the server, in seconds: until the answer begins, and between two parts of it. A long poll
  /// adds to the first.
  public var idleSeconds: Double = 30
  /// For one request from its beginning to its end, in seconds.
  public var wholeSeconds: Double = 300
  /// The body of an answer, in bytes after decompression. What is longer is cut off there.
  public var bodyBytes: Int = 64 << 20

  /// The usual limits: 15 s, 30 s, 300 s and 64 MiB.
  public init() {}
}
