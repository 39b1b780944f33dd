#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Date {
  /// The current time in whole milliseconds, so that a stored value reads back equal.
  public static func nowInMilliseconds() -> Date {
    Date(millisecondsSince1970: Clock.system.now())
  }

  /// A time from milliseconds since 1970-01-01T00:00:00Z.
  @inlinable
  public init(millisecondsSince1970 milliseconds: Int64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }

  /// Whole milliseconds since 1970-01-01T00:00:00Z.
  package var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}
