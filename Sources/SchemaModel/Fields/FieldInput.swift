import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An input value for a field.
public enum FieldInput: Sendable {
  /// Text of a command line or a CSV file. It is read as the type of the field.
  case text(String)
  /// A value with a type, as in JSON.
  case typed(JSONScalar)

  /// Creates the input of a JSON value. Arrays and objects are stored as text.
  public enum JSONScalar: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case structure(String)
  }

  /// Returns the value for a column.
  /// - Throws: ``FieldProblem`` if the input does not have the type of the column.
  package func argument(for column: Catalog.Column) throws -> SQLArgument {
    switch self {
    case .text(let text):
      if text.isEmpty, !column.isNotNull { return .null }
      return try FieldText(type: column.type).argument(text)
    case .typed(let scalar):
      return try argument(of: scalar, for: column.type)
    }
  }

  private func argument(of scalar: JSONScalar, for type: Catalog.ColumnType) throws -> SQLArgument {
    switch (scalar, type) {
    case (.null, _): return .null
    // JSON has no largest number, and 1e400 is parsed as infinity.
    case (.real(let value), _) where !value.isFinite: throw FieldProblem(message: "is too large a number")
    case (.bool(let value), .bool), (.bool(let value), .any): return .integer(value ? 1 : 0)
    case (.integer(let value), .integer), (.integer(let value), .any): return .integer(value)
    case (.integer(let value), .real): return .real(Double(value))
    case (.integer(let value), .bool) where value == 0 || value == 1: return .integer(value)
    case (.real(let value), .real), (.real(let value), .any): return .real(value)
    case (.real(let value), .integer):
      guard let whole = Int64(exactly: value) else {
        throw FieldProblem(message: "is not a whole number of at most 64 bits")
      }
      return .integer(whole)
    case (.string, .integer), (.string, .real), (.string, .bool):
      throw FieldProblem(message: "is text, but \(Self.name(of: type)) was expected")
    case (.string(let value), .json):
      // A JSON column accepts any JSON. A string in a document is the JSON string.
      return .text(try JSONText(encoding: value).text)
    case (.string(let value), .any): return .text(value)
    case (.string(let value), _): return try FieldText(type: type).argument(value)
    case (.structure(let json), .json): return .text(json)
    case (.bool(let value), .json): return .text(value ? "true" : "false")
    case (.integer(let value), .json): return .text(String(value))
    case (.real(let value), .json): return .text("\(value)")
    default: throw FieldProblem(message: "is not \(Self.name(of: type))")
    }
  }

  package static func name(of type: Catalog.ColumnType) -> String {
    switch type {
    case .bool: "true or false"
    case .integer: "a whole number"
    case .real: "a number"
    case .text: "a text"
    case .timestamp: "a time"
    case .day: "a day"
    case .uuid: "a UUID"
    case .enumeration(let cases): "one of \(cases.joined(separator: ", "))"
    case .json: "JSON"
    case .blob: "base64"
    case .any: "a value"
    }
  }
}
