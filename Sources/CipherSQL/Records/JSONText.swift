import CSQLCipher

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A JSON document in a column. Its text is stored unchanged.
public struct JSONText: Hashable, Sendable, CustomStringConvertible {
  /// The document.
  public let text: String

  /// Creates a document from a text that is known to be JSON. The column's CHECK refuses any other text.
  public init(_ text: String) { self.text = text }

  /// Encodes a value as JSON with sorted keys.
  /// - Throws: the errors of the value's `encode(to:)`.
  public init(encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    text = String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Reads the document as a Swift value.
  /// - Throws: `DecodingError` if the document does not match the type.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  /// The text of the document.
  public var description: String { text }
}

extension JSONText: SQLValue {
  /// Reads the text of a TEXT column, counted from 0, without parsing it.
  /// - Throws: ``SQLError`` with `typeMismatch` if the value is not TEXT.
  @inlinable
  public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> JSONText {
    JSONText(try String.decode(from: row, at: index))
  }

  /// Binds the document as TEXT to a placeholder, counted from 1.
  /// - Throws: ``SQLError`` with `tooBig` above SQLite's limit, with `misuse` for an unknown placeholder.
  @inlinable
  public func bind(to statement: Statement, at index: Int32) throws(SQLError) {
    try text.bind(to: statement, at: index)
  }

  /// The document as TEXT.
  public var sqlArgument: SQLArgument { .text(text) }
}

extension JSONText: Codable {
  /// Decodes a string that contains the document, without parsing it.
  /// - Throws: `DecodingError` if the value is not a single string.
  public init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
  }

  /// Encodes the document as one string, not as nested JSON.
  /// - Throws: the errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
