/// A value of a synced column in payloads, bases, conflicts and on the wire: JSON that keeps SQLite's difference
/// between INTEGER and REAL.
///
/// Dates and UUIDs are text, BLOBs are base64 text. Absent and null differ: null is a value, and an absent name is
/// not a member of its object.
///
/// Two values are equal if they are the same JSON, which means that their canonical forms are equal. 1 and 1.0 are
/// one number, so a server that writes 1 for a REAL has changed nothing. "e" with a combining accent and "é" are two
/// texts, although Swift calls these strings equal.
public enum SyncValue: Sendable {
  case null
  case bool(Bool)
  /// An INTEGER of 64 bits, exact also beyond 2^53.
  case integer(Int64)
  /// A REAL; never NaN or infinite, which JSON cannot say.
  case real(FiniteReal)
  /// A number in a JSON document that is written in another way than 64 bits or a double say it.
  case number(DecimalNumber)
  case text(String)
  case array([SyncValue])
  case object(SyncObject)

  /// How deep arrays and objects are nested: 0 for anything else, 2 for `[[1]]`.
  package var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let object): 1 + (object.members.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }

  /// A REAL; nil when the number is NaN or infinite.
  public init?(real number: Double) {
    guard let real = FiniteReal(number) else { return nil }
    self = .real(real)
  }
}

extension SyncValue: Equatable {
  /// Equal with the same content: a REAL that is whole equals its integer, text is compared byte by byte.
  public static func == (left: SyncValue, right: SyncValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.integer(let integer), .real(let real)), (.real(let real), .integer(let integer)):
      real.canonicalText == String(integer)
    case (.number(let left), .number(let right)): left == right
    case (.number(let number), .real(let real)), (.real(let real), .number(let number)):
      number.canonicalText == real.canonicalText
    case (.number(let number), .integer(let integer)), (.integer(let integer), .number(let number)):
      number.canonicalText == String(integer)
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }
}

// Not by nil: `object["name"] == nil` would compare with null, although absent is meant.
extension SyncValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// An array.
  public init(arrayLiteral elements: SyncValue...) { self = .array(elements) }
  /// Of two equal keys the last counts.
  public init(dictionaryLiteral elements: (String, SyncValue)...) { self = .object(SyncObject(elements)) }
}
