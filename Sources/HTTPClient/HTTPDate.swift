import SyncModel

/// The format of times in headers (RFC 9110, section 5.6.7).
package enum HTTPDate {
  /// Reads the form that HTTP has had since 1997, `Sun, 06 Nov 1994 08:49:37 GMT`, as milliseconds since 1970-01-01
  /// UTC; `nil` for any other form.
  package static func milliseconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[0].count == 4, parts[5] == "GMT", parts[1].count == 2,
      let month = months.firstIndex(of: parts[2])
    else { return nil }
    return WireTime.milliseconds(
      "\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[1])T\(parts[4]).000Z")
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

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
