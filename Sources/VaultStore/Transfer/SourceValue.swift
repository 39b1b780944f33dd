import CipherSQL
import Platform
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The meaning of numbers in the time columns of a database.
public enum NumericTimes: String, Sendable, CaseIterable {
  /// Seconds since 1970-01-01 UTC.
  case unix
  /// Milliseconds since 1970-01-01 UTC.
  case milliseconds
  /// Seconds since 2001-01-01 UTC, as in Core Data.
  case apple
  /// Julian days, as SQLite's function `julianday` returns them.
  case julian

  /// Returns the milliseconds since 1970; `nil` outside the years 0 to 9999.
  func milliseconds(_ number: Double) -> Int64? {
    let value =
      switch self {
      case .unix: number * 1000
      case .milliseconds: number
      case .apple: number * 1000 + 978_307_200_000
      case .julian: (number - 2_440_587.5) * 86_400_000
      }
    guard let whole = Int64(exactly: value.rounded()), TimestampText.range.contains(whole) else { return nil }
    return whole
  }
}

/// Converts values of a database of another program to the types of fields: the only place that knows how other
/// programs store dates, UUIDs and truth values.
struct SourceValue {
  /// The meaning of numbers in time columns; `nil` refuses numbers.
  let times: NumericTimes?
  /// A text that means a missing value.
  let nullText: String?

  /// Returns the value for a field.
  /// - Throws: ``FieldProblem``, which names a valid example and never the value.
  func argument(_ value: SQLArgument, for column: Catalog.Column) throws -> SQLArgument {
    if isMissing(value, column.type) { return .null }
    switch (column.type, value) {
    case (.timestamp, _): return .text(TimestampText.text(try time(value)))
    case (.day, _): return try day(value, column)
    case (.uuid, _):
      guard let uuid = Self.uuid(value) else {
        throw FieldProblem(
          message: "is not a UUID; a text such as 0193d0a4-5f2e-7c31-9d0b-6a1b2c3d4e5f or 16 bytes are valid")
      }
      return uuid.sqlArgument
    case (.json, .blob(let bytes)):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw FieldProblem(message: "is a BLOB, but JSON was expected, such as [1, 2]")
      }
      return .text(text)
    case (.json, .integer(let number)): return .text(String(number))
    case (.json, .real(let number)): return .text("\(number)")
    case (.blob, .blob), (.any, _): return value
    case (.blob, _): throw FieldProblem(message: "is not a BLOB; bytes such as x'00FF' are valid")
    case (_, .blob): throw FieldProblem(message: "is a BLOB, but \(FieldInput.name(of: column.type)) was expected")
    case (.text, .integer(let number)): return .text(String(number))
    case (.text, .real(let number)): return .text("\(number)")
    case (_, .text(let text)): return try FieldText(type: column.type).argument(text)
    case (.real, .integer(let number)): return .real(Double(number))
    case (.integer, .integer): return value
    case (.real, .real(let number)) where number.isFinite: return value
    case (.integer, .real(let number)), (.bool, .real(let number)):
      guard let whole = Int64(exactly: number) else {
        throw FieldProblem(message: "is not a whole number of at most 64 bits, such as 42")
      }
      return try argument(.integer(whole), for: column)
    case (.bool, .integer(let number)) where number == 0 || number == 1: return value
    default: throw FieldProblem(message: "is not \(Self.example(of: column.type))")
    }
  }

  /// Returns the UUID that 16 bytes or a text of 36 characters are; `nil` for another value.
  static func uuid(_ value: SQLArgument) -> UUID? {
    switch value {
    case .text(let text): return UUIDText.parse(text)
    case .blob(let bytes) where bytes.count == 16:
      return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    default: return nil
    }
  }

  /// Returns the storage class of a value, for messages.
  static func className(of value: SQLArgument) -> String {
    switch value {
    case .null: "NULL"
    case .integer: "an INTEGER"
    case .real: "a REAL"
    case .text(let text): "a TEXT of \(text.unicodeScalars.count) characters"
    case .blob(let bytes): "a BLOB of \(bytes.count) bytes"
    }
  }

  /// Returns whether a value means that a field has none.
  func isMissing(_ value: SQLArgument, _ type: Catalog.ColumnType) -> Bool {
    switch value {
    case .null: return true
    case .text(let text):
      if let nullText, SourceName.isSame(text, nullText) { return true }
      // In a text field, an empty text is a value that the other program stored.
      return text.isEmpty && type != .text && type != .any
    default: return false
    }
  }

  private func day(_ value: SQLArgument, _ column: Catalog.Column) throws -> SQLArgument {
    if case .text(let text) = value, let day = CalendarDay(text) { return .text(day.description) }
    guard let time = try? time(value), time % 86_400_000 == 0 else {
      throw FieldProblem(message: "is not a date; 2013-01-31, or a time at midnight UTC, is valid")
    }
    return .text(String(TimestampText.text(time).prefix(10)))
  }

  /// Returns the milliseconds since 1970. A text without a zone is UTC, as SQLite and GRDB store it.
  private func time(_ value: SQLArgument) throws -> Int64 {
    switch value {
    case .text(let text):
      let forms = CalendarDay(text) == nil ? [text, text + "Z"] : [text + "T00:00Z"]
      guard let date = forms.lazy.compactMap({ Date(iso8601: $0) }).first else { throw Self.noTime }
      return date.milliseconds
    case .integer(let number): return try time(Double(number))
    case .real(let number): return try time(number)
    default: throw Self.noTime
    }
  }

  private func time(_ number: Double) throws -> Int64 {
    guard let times else {
      throw FieldProblem(message: "is a number, and the file does not say which time it means")
    }
    guard let time = times.milliseconds(number) else { throw Self.noTime }
    return time
  }

  private static let noTime = FieldProblem(
    message: "is not a time; 2013-01-31 06:00:00.000 (UTC) or 2013-01-31T06:00:00+01:00 is valid")

  private static func example(of type: Catalog.ColumnType) -> String {
    switch type {
    case .bool: "true or false; 0, 1, 'true' and 'false' are valid"
    case .real: "a finite number, such as 21.5"
    default: FieldInput.name(of: type)
    }
  }
}
