/// The size of the part of a file in one request: large enough to use the link, small enough to lose little after an
/// interruption.
public struct ChunkSize: Equatable, Sendable {
  /// The minimum in bytes.
  public static let least: Int64 = 64 << 10
  /// The maximum in bytes.
  public static let most: Int64 = 8 << 20
  /// The target duration of a request in seconds.
  static let wantedSeconds = 8.0

  /// The bytes of the next request.
  public private(set) var bytes: Int64
  /// Below the size that a server or a proxy has refused.
  private var limit = most

  /// The initial size: 1 MiB, until the link has been measured.
  public init() { bytes = 1 << 20 }

  /// Applies the duration of a request of this many bytes. The size at most doubles, so that a single fast request
  /// counts little.
  mutating func succeeded(bytes count: Int64, seconds: Double) {
    // A request shorter than a chunk shows little, because its round trip dominates.
    guard count >= bytes / 2 else { return }
    let wanted = Double(count) * Self.wantedSeconds / max(seconds, 0.001)
    bytes = Self.bounded(min(Int64(min(wanted, Double(Self.most))), bytes * 2), limit)
  }

  /// The connection was lost within a request.
  mutating func failed() { bytes = Self.bounded(bytes / 2, limit) }

  /// Applies a refusal for size. Returns `false` if the size is already the smallest.
  mutating func wasTooLarge(bytes count: Int64) -> Bool {
    guard count > Self.least else { return false }
    limit = max(count / 2, Self.least)
    bytes = Self.bounded(bytes, limit)
    return true
  }

  private static func bounded(_ bytes: Int64, _ limit: Int64) -> Int64 { min(max(bytes, least), limit) }
}
