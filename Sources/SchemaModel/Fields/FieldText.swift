import CipherSQL
import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The reason why a text is not a valid value of a field. The message never contains the text.
public struct FieldProblem: Error, Sendable {
  /// The description of the problem, such as "is not a number".
  public let message: String

  package init(message: String) { self.message = message }
}

/// Parses the text of a field as the type of its column.
package struct FieldText {
  private let type: Catalog.ColumnType

  package init(type: Catalog.ColumnType) { self.type = type }

  /// Binds the value of a text to a placeholder.
  /// - Throws: ``FieldProblem`` if the text is not a value of the type.
  package func bind(_ text: UnsafeBufferPointer<UInt8>, to statement: Statement, at index: Int32) throws {
    switch type {
    case .text, .json: try statement.bindText(text, at: index)
    case .real: try real(text).bind(to: statement, at: index)
    case .integer: try integer(text).bind(to: statement, at: index)
    case .bool: try bool(text).bind(to: statement, at: index)
    case .timestamp: try timestamp(text).bind(to: statement, at: index)
    default: try argument(text).bind(to: statement, at: index)
    }
  }

  /// Returns the value of a text.
  /// - Throws: ``FieldProblem`` if the text is not a value of the type.
  package func argument(_ text: UnsafeBufferPointer<UInt8>) throws -> SQLArgument {
    switch type {
    case .text, .json: return .text(String(decoding: text, as: UTF8.self))
    case .real: return .real(try real(text))
    case .integer: return .integer(try integer(text))
    case .bool: return .integer(try bool(text) ? 1 : 0)
    case .timestamp: return .text(try timestamp(text).sqlText)
    case .day:
      guard let day = CalendarDay(String(decoding: text, as: UTF8.self)) else {
        throw FieldProblem(message: "is not a date; write it as 2013-01-31")
      }
      return .text(day.description)
    case .uuid:
      guard let uuid = UUID(sqlText: String(decoding: text, as: UTF8.self)) else {
        throw FieldProblem(message: "is not a UUID of 36 characters")
      }
      return uuid.sqlArgument
    case .enumeration(let cases):
      let value = String(decoding: text, as: UTF8.self)
      guard cases.contains(value) else { throw FieldProblem(message: "is not one of \(cases.joined(separator: ", "))") }
      return .text(value)
    case .blob:
      guard let data = Data(base64Encoded: String(decoding: text, as: UTF8.self)) else {
        throw FieldProblem(message: "is not base64")
      }
      return .blob([UInt8](data))
    case .any:
      return anything(String(decoding: text, as: UTF8.self))
    }
  }

  /// Returns the value of a text.
  /// - Throws: ``FieldProblem`` if the text is not a value of the type.
  package func argument(_ text: String) throws -> SQLArgument {
    var copy = text
    return try copy.withUTF8 { try argument($0) }
  }

  private func real(_ text: UnsafeBufferPointer<UInt8>) throws -> Double {
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite, !isHexadecimal(text) else {
      throw FieldProblem(message: "is not a number")
    }
    return value
  }

  private func integer(_ text: UnsafeBufferPointer<UInt8>) throws -> Int64 {
    guard let value = Int64(String(decoding: text, as: UTF8.self)) else {
      throw FieldProblem(message: "is not a whole number of at most 64 bits")
    }
    return value
  }

  private func bool(_ text: UnsafeBufferPointer<UInt8>) throws -> Bool {
    switch String(decoding: text, as: UTF8.self).lowercased() {
    case "1", "true": return true
    case "0", "false": return false
    default: throw FieldProblem(message: "is not true, false, 1 or 0")
    }
  }

  private func timestamp(_ text: UnsafeBufferPointer<UInt8>) throws -> Date {
    guard let date = Date(iso8601: text) else {
      throw FieldProblem(message: "is not a time with a time zone; write it as 2013-01-31T06:00:00Z")
    }
    return date
  }

  // Swift parses 0x1p3 as a number. In a table of measurements such a text is a mistake.
  private func isHexadecimal(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    text.contains { $0 == UInt8(ascii: "x") || $0 == UInt8(ascii: "X") }
  }

  private func anything(_ text: String) -> SQLArgument {
    if let integer = Int64(text) { return .integer(integer) }
    if let real = Double(text), real.isFinite { return .real(real) }
    return .text(text)
  }
}
