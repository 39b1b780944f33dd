import CipherSQL
import VaultKeys

/// What went wrong with a vault or with what was asked of it.
///
/// `code` is for programs, `message` for people, and `hint` says what to do next. None of them holds a value of a
/// record, a key or a passphrase.
public struct VaultError: Error, Sendable, CustomStringConvertible {
  /// A kind of failure. New kinds may be added; compare with `==` and have a default branch.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The word for the kind, such as `damaged`.
    public let rawValue: String
    /// The kind of a word. Any word is taken.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The folder is no vault, or does not exist.
    public static let notAVault = Code(rawValue: "notAVault")
    /// Something stands where a vault was to be made.
    public static let alreadyExists = Code(rawValue: "alreadyExists")
    /// A part of the vault is missing or is not what was written.
    public static let damaged = Code(rawValue: "damaged")
    /// Another process holds what is needed.
    public static let busy = Code(rawValue: "busy")
    /// The vault's schema is older than the program's.
    public static let migrationNeeded = Code(rawValue: "migrationNeeded")
    /// There is no entity of that name; see ``VaultError/candidates``.
    public static let noSuchEntity = Code(rawValue: "noSuchEntity")
    /// The entity has no field of that name; see ``VaultError/candidates``.
    public static let noSuchField = Code(rawValue: "noSuchField")
    /// There is no record of that uuid.
    public static let noSuchRecord = Code(rawValue: "noSuchRecord")
    /// A value that the field does not take.
    public static let badValue = Code(rawValue: "badValue")
    /// A change that a rule forbids.
    public static let refused = Code(rawValue: "refused")
    /// Records of the server's own that have never come to this device.
    public static let notFetched = Code(rawValue: "notFetched")
    /// A file that cannot be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// A file of an attachment that is not on this device; the server may have it.
    public static let notHere = Code(rawValue: "notHere")
    /// A file or folder that cannot be written.
    public static let cannotWrite = Code(rawValue: "cannotWrite")
    /// No space left on the device.
    public static let noSpace = Code(rawValue: "noSpace")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, in words.
  public let message: String
  /// What to do next, where that is known.
  public let hint: String?
  /// The name that was asked for, where it was not found; the field, where its value cannot be taken.
  public let name: String?
  /// The names that exist, from which a near one may be suggested.
  public let candidates: [String]

  /// An error in words that hold no value of a record, no key and no passphrase.
  /// - Parameters:
  ///   - code: the kind of failure.
  ///   - message: what happened.
  ///   - hint: what to do next, where that is known.
  ///   - name: the name that was not found, or the field whose value cannot be taken.
  ///   - candidates: the names that exist.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, name: String? = nil, candidates: [String] = []
  ) {
    (self.code, self.message, self.hint, self.name, self.candidates) = (code, message, hint, name, candidates)
  }

  /// The message, with the hint behind it in parentheses.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
