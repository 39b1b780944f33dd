/// The only error of this module.
///
/// Its message names places, fields and rules, but never a value, because a message may be written to a log.
public struct SyncModelError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of mistake, for programs.
  public let code: Code
  /// The problem, for the user.
  public let message: String
  /// The offset of the first wrong byte in a parsed text, counted from 0; otherwise `nil`.
  public let byteOffset: Int?
  /// The wrong member of a message of the wire format, such as `operations[3].updatedAt`; empty for the whole message,
  /// otherwise `nil`.
  public let member: String?

  init(_ code: Code, _ message: String, byteOffset: Int? = nil, member: String? = nil) {
    self.code = code
    self.message = message
    self.byteOffset = byteOffset
    self.member = member
  }

  /// The message with its place.
  public var description: String {
    if let byteOffset { return "\(message) at byte \(byteOffset)" }
    guard let member, !member.isEmpty else { return message }
    return "\(message) at \(member)"
  }

  /// Returns the same error with the path of its member within an outer message.
  func inside(_ outer: String) -> SyncModelError {
    guard let member else { return self }
    return SyncModelError(code, message, member: member.isEmpty ? outer : "\(outer).\(member)")
  }

  /// The kind of a ``SyncModelError``. Kinds can be added; a `switch` always needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for logs and tests.
    public let description: String

    // Reading JSON.

    /// Not JSON (RFC 8259): also NaN, Infinity, comments, surplus commas, an unescaped control character, a byte order
    /// mark.
    public static let syntax = Code(description: "syntax")
    /// The text ends before the value does.
    public static let unexpectedEnd = Code(description: "unexpectedEnd")
    /// Text other than white space follows the value.
    public static let trailingText = Code(description: "trailingText")
    /// Invalid UTF-8.
    public static let invalidUTF8 = Code(description: "invalidUTF8")
    /// An unpaired surrogate, which is not a character.
    public static let loneSurrogate = Code(description: "loneSurrogate")
    /// An object contains a name twice.
    public static let duplicateName = Code(description: "duplicateName")
    /// Arrays and objects are nested too deep.
    public static let tooDeep = Code(description: "tooDeep")
    /// A number whose exponent has more than nine digits.
    public static let numberOutOfRange = Code(description: "numberOutOfRange")

    // Reading messages of the wire.

    /// A required member of a message is absent.
    public static let missingMember = Code(description: "missingMember")
    /// A member has another type than the message format requires, or an unknown word.
    public static let wrongMember = Code(description: "wrongMember")

    // Resolving conflicts.

    /// A field, or the deletion, is in conflict and has no choice.
    public static let undecided = Code(description: "undecided")
    /// A choice names a field that the chosen side lacks.
    public static let noSuchField = Code(description: "noSuchField")
  }
}
