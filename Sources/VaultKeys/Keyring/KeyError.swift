/// An error of a keyring, of a key slot or of reading a secret.
///
/// Match on ``code``, and show ``message`` and ``hint`` to the user. Neither contains a secret.
///
/// ```swift
/// do {
///   let unlocked = try keyring.unlock(with: .passphrase(passphrase))
/// } catch let error where error.code == .wrongSecret {
///   print(error.message, error.hint)
/// }
/// ```
public struct KeyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; compare it with the static members of ``Code-swift.struct``.
  public let code: Code
  /// One sentence that names the file, the slot or the field, never a secret.
  public let message: String
  /// The remedy, in one sentence.
  public let hint: String

  /// Creates an error from its parts.
  public init(_ code: Code, _ message: String, hint: String) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The message, followed by the hint in parentheses.
  public var description: String { "\(message) (\(hint))" }

  /// Returns the same error with the path of the file in front of its message.
  func naming(_ path: String) -> KeyError {
    KeyError(code, "\(path): \(message)", hint: hint)
  }
}

extension KeyError {
  /// The keyring fails its integrity check.
  static func damaged(_ what: String) -> KeyError {
    KeyError(
      .damaged, "the keyring is damaged: \(what)",
      hint: "restore keyring.json from a backup of this vault; do not edit it by hand")
  }

  /// The named slot does not exist or cannot be used.
  static func noSuchSlot(_ what: String) -> KeyError {
    KeyError(.noSuchSlot, what, hint: "list the slots and name one by its id")
  }

  /// Memory for a key or for Argon2id is missing.
  static func outOfMemory(_ what: String) -> KeyError {
    KeyError(.outOfMemory, "not enough memory for \(what)", hint: "close other programs and try again")
  }
}
