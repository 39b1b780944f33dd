/// Deletions that a comparison of all records asks for. Many at once are more likely a loss at the server than the wish of a
/// user, so a device holds them until a user accepts them.
public struct HeldDeletions: Equatable, Sendable {
  /// Up to this many deletions are carried out without a question.
  public static let greatestCount = 20
  /// Up to this share of the records, in percent, is deleted without a question.
  public static let greatestPercent = 5

  /// How many of the device's records the comparison would delete.
  public let deletions: Int
  /// How many records the device has.
  public let records: Int

  /// What a comparison asks for; nil when it is carried out without a question.
  /// - Parameter accepted: how many deletions a user has accepted.
  public init?(deletions: Int, of records: Int, accepted: Int = 0) {
    let isSmall =
      deletions <= Self.greatestCount
      || deletions * 100 <= records * Self.greatestPercent
    guard !isSmall, deletions > accepted else { return nil }
    (self.deletions, self.records) = (deletions, records)
  }
}
