/// Decides which files of an account a sweep may remove. The storage finds the candidates and removes only the files
/// that this decision names.
///
/// A wrong mount, a wrong bucket or a lagging replica looks like lost or orphaned files until it is corrected. A file
/// is therefore removed only after days, only if a second check has the same result, and only a few files are removed
/// at a time.
public enum FileSweep {
  /// The reason for which a file may be removed.
  public enum Reason: String, Sendable, CaseIterable {
    /// A row whose bytes are missing, or have another length.
    case missing
    /// Bytes without a row.
    case orphaned
    /// A content that no record needs.
    case unused
  }

  /// A file that may be removed.
  public struct Candidate: Equatable, Sendable {
    /// The name of the file in the storage.
    public var file: String
    /// The reason for which the file may be removed.
    public var reason: Reason
    /// The time at which a sweep or a read first noticed it, in milliseconds since 1970-01-01 UTC.
    public var since: Int64
    /// Whether this sweep has confirmed the reason.
    public var isConfirmed: Bool

    /// Creates a candidate.
    public init(_ file: String, _ reason: Reason, since: Int64, isConfirmed: Bool) {
      (self.file, self.reason, self.since, self.isConfirmed) = (file, reason, since, isConfirmed)
    }
  }

  /// The time between the first and the second proof, in milliseconds: 7 days.
  public static let grace: Int64 = 7 * 86_400_000

  /// The maximum number of files removed by one sweep: 1 % of the account. In an account with fewer than 100 files it
  /// is one, because otherwise no file could ever be removed.
  public static func greatestCount(ofFiles total: Int) -> Int { total <= 0 ? 0 : max(1, total / 100) }

  /// Returns the candidates that may be removed now, the oldest first.
  /// - Parameters:
  ///   - total: the number of the account's files, including candidates.
  ///   - hasMarker: whether the volume or bucket has the marker of this server. Without it no file may be removed.
  public static func removable(
    _ candidates: [Candidate], ofFiles total: Int, hasMarker: Bool, at time: Int64
  ) -> [Candidate] {
    guard hasMarker else { return [] }
    let due = candidates.filter { $0.isConfirmed && $0.since <= time - grace }
    let sorted = due.sorted { ($0.since, $0.file) < ($1.since, $1.file) }
    return Array(sorted.prefix(greatestCount(ofFiles: total)))
  }
}
