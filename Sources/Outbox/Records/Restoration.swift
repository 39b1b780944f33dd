/// The result of an undeletion.
public struct Restoration: Equatable, Sendable {
  /// The number of records that were restored on this device, dependents included.
  public var restored: Int
  /// The number of these records that came from the server, because sync had removed their rows.
  public var fetched: Int
  /// Whether the server restores the dependents, because it has the deletion. The next sync fetches them.
  public var dependentsFollow: Bool

  /// Creates a result; without arguments, that of no record.
  public init(restored: Int = 0, fetched: Int = 0, dependentsFollow: Bool = false) {
    (self.restored, self.fetched, self.dependentsFollow) = (restored, fetched, dependentsFollow)
  }

  static func += (left: inout Restoration, right: Restoration) {
    left.restored += right.restored
    left.fetched += right.fetched
    left.dependentsFollow = left.dependentsFollow || right.dependentsFollow
  }
}
