/// How much of a file is sent in one request: so much that the link is busy, and so little that a cut costs little.
public struct ChunkSize: Equatable, Sendable {
  /// The least, in bytes.
  public static let least: Int64 = 64 << 10
  /// The most, in bytes.
  public static let most: Int64 = 8 << 20
  /// How long a request is meant to take, in seconds.
  static let wantedSeconds = 8.0

  /// What the next request takes, in bytes.
  public private(set) var bytes: Int64
  /// No more than a server or a proxy has refused.
  private var limit = most

  /// 1 MiB, until the link is known.
  public init() { bytes = 1 << 20 }

  /// A request of so many bytes has gone through. It at most doubles, so that one moment of luck is not believed.
  mutating func succeeded(bytes count: Int64, seconds: Double) {
    // What is shorter than a chunk says little: the way there and back counts more than the link.
    guard count >= bytes / 2 else { return }
    let wanted = Double(count) * Self.wantedSeconds / max(seconds, 0.001)
    bytes = Self.bounded(min(Int64(min(wanted, Double(Self.most))), bytes * 2), limit)
  }

  /// The connection was lost within a request.
  mutating func failed() { bytes = Self.bounded(bytes / 2, limit) }

  /// A request was too large for somebody on the way. False when there is no smaller one.
  mutating func wasTooLarge(bytes count: Int64) -> Bool {
    guard count > Self.least else { return false }
    limit = max(count / 2, Self.least)
    bytes = Self.bounded(bytes, limit)
    return true
  }

  private static func bounded(_ bytes: Int64, _ limit: Int64) -> Int64 { min(max(bytes, least), limit) }
}
