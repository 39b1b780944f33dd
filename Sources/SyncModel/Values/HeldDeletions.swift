/// Deletions that result from a comparison of all records. Many deletions at once are more likely a data loss on the
/// server than intended, so a device holds them until a user accepts them.
public struct HeldDeletions: Equatable, Sendable {
  /// The greatest number of deletions that need no consent.
  public static let greatestCount = 20
  /// The greatest share of deleted records that needs no consent, in percent.
  public static let greatestPercent = 5

  /// The number of the device's records that the comparison would delete.
  public let deletions: Int
  /// The number of the device's records.
  public let records: Int

  /// Returns the number of deletions that need the user's consent; `nil` if the comparison may continue.
  /// - Parameter accepted: the number of deletions that a user has accepted.
  public init?(deletions: Int, of records: Int, accepted: Int = 0) {
    let isSmall =
      deletions <= Self.greatestCount
      || deletions * 100 <= records * Self.greatestPercent
    guard !isSmall, deletions > accepted else { return nil }
    (self.deletions, self.records) = (deletions, records)
  }
}
