/// The text of a progress line: name, count, total, percentage, rate, remaining time.
func progressText(_ what: String, done: Int, total: Int, seconds: Double, unit: ProgressLine.Unit) -> String {
  if unit == .time { return "\(what)  \(durationText(seconds))" }
  func amount(_ count: Int) -> String { unit == .bytes ? byteText(count) : countText(count) }
  var parts = [what]
  parts.append(total > 0 ? "\(amount(done)) of \(amount(total))" : amount(done))
  if total > 0 { parts.append("\(Int(min(Double(done) / Double(total), 1) * 100))%") }
  let rate = seconds > 0 ? Double(done) / seconds : 0
  if rate >= 1 { parts.append("\(amount(Int(min(rate, 1e15))))/s") }
  if rate > 0, total > done { parts.append("\(durationText(Double(total - done) / rate)) left") }
  return parts.joined(separator: "  ")
}

/// A count with commas: `12,345`.
public func countText(_ count: Int) -> String {
  var text = ""
  for (index, digit) in String(count.magnitude).reversed().enumerated() {
    if index > 0, index % 3 == 0 { text.append(",") }
    text.append(digit)
  }
  return (count < 0 ? "-" : "") + String(text.reversed())
}

/// Formats a number of bytes: `512 B`, `12.3 MB`; a kilobyte is 1,000 bytes.
public func byteText(_ bytes: Int) -> String {
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
public func durationText(_ seconds: Double) -> String {
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
