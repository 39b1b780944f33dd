#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The position after the last record of a page. It is opaque and can be stored, sent and passed to
/// ``Query/page(_:size:after:)`` with the same ordering. It contains the values by which that record was ordered.
public struct PageCursor: Hashable, Sendable {
  /// Identifies the ordering that the cursor was created with.
  let ordering: UInt64
  let values: [SQLArgument]

  init(ordering: UInt64, values: [SQLArgument]) { (self.ordering, self.values) = (ordering, values) }
}

extension PageCursor: LosslessStringConvertible {
  /// The cursor as text of letters, digits, `.`, `-`, `+`, `/` and `=`.
  public var description: String {
    var parts = [String(ordering, radix: 16)]
    for value in values {
      switch value {
      case .null: parts.append("n")
      case .integer(let value): parts.append("i" + String(value))
      case .real(let value): parts.append("r" + String(value.bitPattern, radix: 16))
      case .text(let value): parts.append("t" + Data(value.utf8).base64EncodedString())
      case .blob(let value): parts.append("b" + Data(value).base64EncodedString())
      }
    }
    return parts.joined(separator: ".")
  }

  /// Parses the text form; `nil` for any other text.
  public init?(_ description: String) {
    let parts = description.split(separator: ".", omittingEmptySubsequences: false)
    guard let first = parts.first, let ordering = UInt64(first, radix: 16) else { return nil }
    var values: [SQLArgument] = []
    for part in parts.dropFirst() {
      guard let value = PageCursor.value(part) else { return nil }
      values.append(value)
    }
    self.init(ordering: ordering, values: values)
  }

  private static func value(_ part: Substring) -> SQLArgument? {
    let rest = part.dropFirst()
    switch part.first {
    case "n": return rest.isEmpty ? .null : nil
    case "i": return Int64(rest).map { .integer($0) }
    case "r": return UInt64(rest, radix: 16).map { .real(Double(bitPattern: $0)) }
    case "t":
      return Data(base64Encoded: String(rest)).flatMap { String(validating: $0, as: UTF8.self) }.map { .text($0) }
    case "b": return Data(base64Encoded: String(rest)).map { .blob([UInt8]($0)) }
    default: return nil
    }
  }
}

extension PageCursor: Codable {
  /// Reads the text form from a string.
  /// - Throws: `DecodingError` if the value is not a single string or not a cursor.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let cursor = PageCursor(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "invalid page cursor")
    }
    self = cursor
  }

  /// Encodes the text form as a string.
  /// - Throws: the errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
