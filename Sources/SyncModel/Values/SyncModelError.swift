/// The only error of this module.
///
/// It names places, fields and rules, never a value, because a message may be written to a log.
public struct SyncModelError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of mistake, for programs.
  public let code: Code
  /// The problem, for the user.
  public let message: String
  /// For texts that were read: the first byte that is wrong, counted from 0. Nil otherwise.
  public let byteOffset: Int?
  /// For messages of the wire: the member that is wrong, such as `operations[3].updatedAt`; empty for the message
  /// itself. Nil otherwise.
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

  /// The same mistake as seen from a message that this one is a part of.
  func inside(_ outer: String) -> SyncModelError {
    guard let member else { return self }
    return SyncModelError(code, message, member: member.isEmpty ? outer : "\(outer).\(member)")
  }

  /// The kind of a ``SyncModelError``. Kinds can be added; a `switch` always needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, for logs and tests.
    public let description: String

    // Reading JSON.

    /// Not JSON (RFC 8259): also NaN, Infinity, comments, commas too many, an unescaped control character, a byte
    /// order mark.
    public static let syntax = Code(description: "syntax")
    /// The text ends before the value does.
    public static let unexpectedEnd = Code(description: "unexpectedEnd")
    /// Something other than white space follows the value.
    public static let trailingText = Code(description: "trailingText")
    /// A text that is not UTF-8.
    public static let invalidUTF8 = Code(description: "invalidUTF8")
    /// Half of a surrogate pair, which is no character.
    public static let loneSurrogate = Code(description: "loneSurrogate")
    /// An object has one name twice.
    public static let duplicateName = Code(description: "duplicateName")
    /// Arrays and objects are nested too deep.
    public static let tooDeep = Code(description: "tooDeep")
    /// A number whose exponent has more than nine digits.
    public static let numberOutOfRange = Code(description: "numberOutOfRange")

    // Reading messages of the wire.

    /// A member that a message must have is absent.
    public static let missingMember = Code(description: "missingMember")
    /// A member has another type than its message says, or an unknown word.
    public static let wrongMember = Code(description: "wrongMember")

    // Resolving conflicts.

    /// A field, or the deletion, is in conflict and nothing was chosen for it.
    public static let undecided = Code(description: "undecided")
    /// Something was chosen for a field that no side has, or that side does not have.
    public static let noSuchField = Code(description: "noSuchField")
  }
}
