/// The identifier of a record on a server: a number on a FieldVault server, or a text that only the server understands.
public enum ServerId: Hashable, Sendable {
  /// A number, such as 17.
  case integer(Int64)
  /// A text, such as `65f2c0…`; never empty.
  case text(String)

  /// Creates the id from a value of a response; `nil` for any other value than an integer or a text.
  public init?(_ value: SyncValue) {
    switch value {
    case .integer(let number): self = .integer(number)
    case .text(let text) where !text.isEmpty: self = .text(text)
    default: return nil
    }
  }

  /// The id as a JSON value.
  public var value: SyncValue {
    switch self {
    case .integer(let number): .integer(number)
    case .text(let text): .text(text)
    }
  }
}

extension ServerId: CustomStringConvertible {
  /// The text in a path, before percent-encoding.
  public var description: String {
    switch self {
    case .integer(let number): String(number)
    case .text(let text): text
    }
  }
}

extension ServerId: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  /// Creates an id from an integer literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Creates an id from a string literal.
  public init(stringLiteral value: String) { self = .text(value) }
}
