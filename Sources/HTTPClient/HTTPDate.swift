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
