import SyncModel

/// An error of a vault or of a request to it.
///
/// Programs use `code` and `remedy`, users read `message` and `hint`. They never contain a value of a record, a key or
/// a passphrase.
public struct VaultError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error. New kinds may be added: compare with `==` and have a default branch.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the kind, such as `damaged`.
    public let rawValue: String
    /// Creates the kind with a name. Any name is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The folder is not a vault, or does not exist.
    public static let notAVault = Code(rawValue: "notAVault")
    /// The path of a new vault already exists.
    public static let alreadyExists = Code(rawValue: "alreadyExists")
    /// A part of the vault is missing or fails its integrity check.
    public static let damaged = Code(rawValue: "damaged")
    /// Another process holds the lock.
    public static let busy = Code(rawValue: "busy")
    /// The vault's schema is older than the program's.
    public static let migrationNeeded = Code(rawValue: "migrationNeeded")
    /// An unknown entity; see ``VaultError/candidates``.
    public static let noSuchEntity = Code(rawValue: "noSuchEntity")
    /// The entity has no field with this name; see ``VaultError/candidates``.
    public static let noSuchField = Code(rawValue: "noSuchField")
    /// An unknown UUID of a record.
    public static let noSuchRecord = Code(rawValue: "noSuchRecord")
    /// Several ids begin with the given characters; see ``VaultError/candidates``.
    public static let ambiguous = Code(rawValue: "ambiguous")
    /// The value is not valid for its field.
    public static let badValue = Code(rawValue: "badValue")
    /// A rule forbids the change.
    public static let refused = Code(rawValue: "refused")
    /// A server-owned entity whose records were never fetched.
    public static let notFetched = Code(rawValue: "notFetched")
    /// A file cannot be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// A file of an attachment is not on this device. The server may have it.
    public static let notHere = Code(rawValue: "notHere")
    /// A file or folder cannot be written.
    public static let cannotWrite = Code(rawValue: "cannotWrite")
    /// The device has no space left.
    public static let noSpace = Code(rawValue: "noSpace")
  }

  /// The kind of the error.
  public let code: Code
  /// The failure, the object and the reason.
  public let message: String
  /// The action that resolves the error, if it is known.
  public let remedy: Remedy?
  /// The name that was not found, or the field whose value is not valid.
  public let name: String?
  /// The existing names, for a suggestion; or some of the ids that an ambiguous prefix can mean.
  public let candidates: [String]
  /// The number of names or ids of which ``candidates`` has some or all.
  public let candidateCount: Int
  /// The remedy as a text; `nil` without a remedy, or if only a program can word it.
  public var hint: String? { remedy?.advice }

  /// Creates an error. Its texts must contain no value of a record, no key and no passphrase.
  /// - Parameters:
  ///   - code: the kind of the error.
  ///   - message: the failure, the object and the reason.
  ///   - hint: the remedy, if it is known.
  ///   - name: the name that was not found, or the field whose value is not valid.
  ///   - candidates: the existing names, or some of them.
  ///   - candidateCount: the number of existing names, if it is not that of `candidates`.
  public init(
    _ code: Code, _ message: String, hint: String? = nil, name: String? = nil, candidates: [String] = [],
    candidateCount: Int? = nil
  ) {
    self.init(
      code, message, remedy: hint.map(Remedy.advice), name: name, candidates: candidates,
      candidateCount: candidateCount)
  }

  /// Creates an error with the action that resolves it. Its texts must contain no value of a record, no key and no
  /// passphrase.
  public init(
    _ code: Code, _ message: String, remedy: Remedy?, name: String? = nil, candidates: [String] = [],
    candidateCount: Int? = nil
  ) {
    (self.code, self.message, self.remedy, self.name, self.candidates) = (code, message, remedy, name, candidates)
    self.candidateCount = candidateCount ?? candidates.count
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { hint.map { "\(message) (\($0))" } ?? message }
}
