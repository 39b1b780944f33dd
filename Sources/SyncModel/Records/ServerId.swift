/// How a server names a record: by a number as a FieldVault server does, or by a text that only the server understands.
public enum ServerId: Hashable, Sendable {
  /// A number, such as 17.
  case integer(Int64)
  /// A text, such as `65f2c0…`; never empty.
  case text(String)

  /// Creates the id from a value of a response; `nil` for anything but an integer or a text.
  public init?(_ value: SyncValue) {
    switch value {
    case .integer(let number): self = .integer(number)
    case .text(let text) where !text.isEmpty: self = .text(text)
    default: return nil
    }
  }

  /// The id as JSON has it.
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
  /// A number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }
}
