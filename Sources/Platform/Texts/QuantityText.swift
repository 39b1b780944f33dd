/// A count with commas: `12,345`.
package func countText(_ count: Int) -> String {
  var text = ""
  for (index, digit) in String(count.magnitude).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return (count < 0 ? "-" : "") + String(text.reversed())
}

/// Formats a number of bytes: `512 B`, `12.3 MB`; a kilobyte is 1,000 bytes.
package func byteText(_ bytes: some BinaryInteger) -> String {
  let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
  if bytes.magnitude < 1000 { return "\(bytes) B" }
  var value = Double(bytes)
  var unit = -1
  // 999.95 would be shown as 1000.0, so it is one of the next unit.
  while value.magnitude >= 999.95 || unit < 0, unit < units.count - 1 {
    value /= 1000
    unit += 1
  }
  let tenths = Int((value * 10).rounded())
  return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10) \(units[unit])"
}

/// Formats a duration: `0.4 s`, `19 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
package func durationText(_ seconds: Double) -> String {
  guard seconds.isFinite, seconds < 1e9 else { return "long" }
  if seconds < 0.95 { return "0.\(Int((max(seconds, 0) * 10).rounded())) s" }
  let whole = Int(seconds.rounded())
  return switch whole {
  case ..<60: "\(whole) s"
  case ..<3600: "\(whole / 60) min \(whole % 60) s"
  case ..<86_400: "\(whole / 3600) h \(whole % 3600 / 60) min"
  default: "\(whole / 86_400) d \(whole % 86_400 / 3600) h"
  }
}

/// Returns a count with its noun in the singular or the plural, such as `1 file` and `2 files`.
package func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
