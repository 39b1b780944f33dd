/// A secret that opens slots of one kind.
public enum UnlockSecret: Sendable {
  /// The bytes of a passphrase: 1 byte to 1 MiB, without Unicode normalisation.
  case passphrase(SecureBytes)
  /// The content of a key file: 32 bytes to 1 MiB.
  case keyFile(SecureBytes)
  /// A typed recovery code.
  case recoveryCode(SecureBytes)
  /// A secret in the operating system's secret store: 32 bytes. See ``SystemSecretStore``.
  case system(SecureBytes)

  /// The longest passphrase and the longest key file, in bytes.
  public static let maximumBytes = 1 << 20
  /// The length of a secret in the system's secret store, in bytes.
  public static let systemCount = 32

  /// The kind of slot that the secret opens.
  public var kind: KeySlot.Kind {
    switch self {
    case .passphrase: .passphrase
    case .keyFile: .keyFile
    case .recoveryCode: .recovery
    case .system: .system
    }
  }

  /// Refuses a value that cannot be a secret of its kind, before any key is tried.
  ///
  /// - Throws: ``KeyError`` `emptySecret`, `secretTooLong`, `badKeyFile`, `badRecoveryCode` or `badSystemSecret`.
  public func validate() throws(KeyError) {
    switch self {
    case .passphrase(let bytes): try UnlockSecret.checkPassphrase(bytes)
    case .keyFile(let content): try KeyFile.check(content)
    case .recoveryCode(let text): _ = try RecoveryCode(parsing: text)
    case .system(let bytes): try UnlockSecret.checkSystem(bytes)
    }
  }

  /// Returns the 32-byte key of the secret for a slot with this salt and cost.
  func slotKey(salt: [UInt8], derivation: KeyDerivation?) throws(KeyError) -> SecureBytes {
    switch self {
    case .passphrase(let bytes):
      try UnlockSecret.checkPassphrase(bytes)
      return try (derivation ?? .standard).key(of: bytes, salt: salt)
    case .keyFile(let content):
      return try saltedKey(of: KeyFile.key(of: content), salt: salt)
    case .recoveryCode(let text):
      return try saltedKey(of: RecoveryCode(parsing: text).secret, salt: salt)
    case .system(let bytes):
      try UnlockSecret.checkSystem(bytes)
      return try saltedKey(of: bytes, salt: salt)
    }
  }

  /// Returns the key of a strong secret, which needs no costly derivation, only a different key for each slot.
  private func saltedKey(of secret: SecureBytes, salt: [UInt8]) throws(KeyError) -> SecureBytes {
    try Digest.secret(Array("fieldvault-keyring/1\n\(kind.rawValue)\n".utf8) + salt, key: secret)
  }

  private static func checkSystem(_ bytes: SecureBytes) throws(KeyError) {
    guard bytes.count == systemCount else { throw .badSystemSecret }
  }

  private static func checkPassphrase(_ bytes: SecureBytes) throws(KeyError) {
    guard bytes.count > 0 else {
      throw KeyError(.emptySecret, "the passphrase is empty", hint: "use a passphrase of at least one character")
    }
    guard bytes.count <= maximumBytes else {
      throw KeyError(
        .secretTooLong, "the passphrase is longer than \(maximumBytes) bytes",
        hint: "check the file; a key file is another kind of slot")
    }
  }
}
