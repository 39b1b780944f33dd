import SyncModel

/// The header `Retry-After` (RFC 9110, section 10.2.3) in both of its forms.
enum RetryAfter {
  /// One day. A longer delay is a mistake in a date, which must not stop sync for years.
  static let greatest = 86_400

  /// Returns the delay in seconds from now, 0 to ``greatest``; `nil` for any other text.
  ///
  /// A date is compared with the response's own `Date`, because the device's clock may be wrong. Without that header
  /// it is compared with `now`, in milliseconds since 1970-01-01 UTC.
  static func seconds(_ text: String?, date: String?, now: Int64) -> Int? {
    guard let text else { return nil }
    if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
      return min(Int(text) ?? greatest, greatest)
    }
    guard let then = HTTPDate.milliseconds(text) else { return nil }
    let begin = date.flatMap(HTTPDate.milliseconds) ?? now
    return Int(min(max((then - begin + 999) / 1000, 0), Int64(greatest)))
  }
}
