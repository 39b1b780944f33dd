/// A value of a synced column in payloads, bases, conflicts and on the wire: JSON that keeps SQLite's difference
/// between INTEGER and REAL.
///
/// Dates and UUIDs are text, BLOBs are base64 text. Absent and null differ: null is a value, and an absent name is
/// not a member of its object.
///
/// Two values are equal if they are the same JSON, which means that their canonical forms are equal. 1 and 1.0 are one
/// number, so a server that writes 1 for a REAL has changed nothing. "e" with a combining accent and "é" are two texts,
/// although these strings are equal in Swift.
public enum SyncValue: Sendable {
  case null
  case bool(Bool)
  /// An INTEGER of 64 bits, exact also beyond 2^53.
  case integer(Int64)
  /// A REAL; never NaN or infinite, which JSON cannot represent.
  case real(FiniteReal)
  /// A number in a JSON document whose digits differ from those of a 64-bit integer or a double.
  case number(DecimalNumber)
  case text(String)
  case array([SyncValue])
  case object(SyncObject)

  /// The nesting depth of arrays and objects: 0 for any other value, 2 for `[[1]]`.
  package var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let object): 1 + (object.members.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }

  /// Creates a REAL; `nil` if the number is NaN or infinite.
  public init?(real number: Double) {
    guard let real = FiniteReal(number) else { return nil }
    self = .real(real)
  }
}

extension SyncValue: Equatable {
  /// Returns whether two values have the same content. A whole REAL equals its integer. Text is compared byte by byte.
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
    case (.text(let left), .text(let right)): left.hasBytes(of: right)
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
  /// Creates `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates an integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// Creates a text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// Creates an array.
  public init(arrayLiteral elements: SyncValue...) { self = .array(elements) }
  /// Creates an object. Of two equal names the last counts.
  public init(dictionaryLiteral elements: (String, SyncValue)...) { self = .object(SyncObject(elements)) }
}

extension SyncValue {
  /// The greatest nesting depth of arrays and objects in a value of a column: `[[1]]` has depth 2.
  public static let greatestDepth = 64
  /// The greatest nesting depth in a parsed text, because a message contains values of columns.
  public static let greatestTextDepth = greatestDepth + 8

  /// Parses one JSON value (RFC 8259) that fills the text.
  ///
  /// A number without point and exponent that fits 64 bits is an integer. Another number is a REAL if it has the
  /// shortest digits of a double that read back equal, also without a point (some servers write 1e20 as
  /// `100000000000000000000`). Other numbers keep their digits unchanged.
  ///
  /// - Throws: ``SyncModelError`` with the offset of the byte: not JSON, not UTF-8, a duplicate name in an object, an
  ///   unpaired surrogate, an exponent of more than nine digits, nesting deeper than ``greatestTextDepth``, text after
  ///   the value.
  public init(parsing bytes: [UInt8]) throws(SyncModelError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }

  /// Parses one JSON value that fills the text; see ``init(parsing:)-([UInt8])``.
  public init(parsing text: String) throws(SyncModelError) {
    try self.init(parsing: Array(text.utf8))
  }
}

extension SyncValue {
  /// This value as JSON without white space, for payloads and the wire.
  ///
  /// Integers have all their digits, a REAL the shortest text that reads back as the same number and as a REAL (`1.0`).
  /// Names are in the order of RFC 8785. Values that are nested deeper than ``greatestTextDepth`` are written, but
  /// refused by the parser.
  public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

  /// The text of ``json`` in UTF-8.
  public var jsonBytes: [UInt8] {
    var writer = JSONWriter(isCanonical: false)
    writer.write(self)
    return writer.bytes
  }

  /// This value as canonical JSON (RFC 8785), for digests and for breaking ties: one text for one value.
  ///
  /// Deviates from the RFC in one point: a number that is not a double, such as an integer beyond ±2^53, keeps all its
  /// digits. The RFC would write the nearest double, and two identifiers that differ in the last digit would have the
  /// same digest. For columns without such numbers any implementation of the RFC gives the same bytes.
  public var canonicalJSON: String { String(decoding: canonicalBytes, as: UTF8.self) }

  private var canonicalBytes: [UInt8] {
    var writer = JSONWriter(isCanonical: true)
    writer.write(self)
    return writer.bytes
  }

  /// SHA-256 of the UTF-8 of ``canonicalJSON``: 64 lowercase hexadecimal digits.
  public var digest: String {
    var digest = SHA256()
    canonicalBytes.withUnsafeBytes { digest.add($0) }
    return digest.hexDigest
  }
}
