import CipherSQL
import VaultStore
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Values of an API as the tables here have them.
enum RestValue {
  /// Returns a value for a column. Times in any form of RFC 3339 get the stored form, a time for a day becomes its
  /// day, and a number as text, or the reverse, gets the type of the column.
  static func value(_ value: SyncValue, for column: SharedColumn) -> SyncValue {
    switch (column.column.type, value) {
    case (.timestamp, .text(let text)): return time(text).map(SyncValue.text) ?? value
    case (.day, .text(let text)) where text.utf8.count > 10: return .text(String(text.prefix(10)))
    case (.integer, .text(let text)): return Int64(text).map(SyncValue.integer) ?? value
    case (.real, .text(let text)): return Double(text).flatMap { SyncValue(real: $0) } ?? value
    case (.real, .integer(let number)): return SyncValue(real: Double(number)) ?? value
    case (.bool, .integer(let number)) where number == 0 || number == 1: return .bool(number == 1)
    case (.text, .integer(let number)): return .text(String(number))
    default: return value
    }
  }

  /// Returns whether a value of an API equals a sent one.
  static func isSame(_ there: SyncValue, _ sent: SyncValue, _ column: SharedColumn) -> Bool {
    if column.reference != nil { return ServerId(there)?.description == ServerId(sent)?.description }
    return value(there, for: column) == value(sent, for: column)
  }

  /// Converts `2026-01-01T10:00:00+02:00` into `2026-01-01T08:00:00.000Z`; `nil` for any other text.
  private static func time(_ text: String) -> String? {
    if WireTime.milliseconds(text) != nil { return text }
    let hasFraction = text.contains(".")
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
    let zoned = text.hasSuffix("Z") || text.dropFirst(19).contains { $0 == "+" || $0 == "-" }
    do {
      let date = try style.parse(zoned ? text : text + "Z")
      return WireTime.text(date.milliseconds)
    } catch {
      // Not a time. The table reports it with the name of the field.
      return nil
    }
  }
}
