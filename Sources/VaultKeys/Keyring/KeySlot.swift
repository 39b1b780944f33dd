/// One way to unlock a vault: a copy of the root key that is wrapped by a secret, and the parameters to open it.
public struct KeySlot: Sendable, Equatable, Identifiable {
  /// The kind of a slot's secret. The raw value is the one in the file.
  public enum Kind: String, Sendable, CaseIterable {
    /// A passphrase, through Argon2id.
    case passphrase
    /// The content of a file.
    case keyFile = "key-file"
    /// A recovery code.
    case recovery
    /// A secret in the operating system's secret store.
    case system
  }

  /// The id, 8 lowercase hexadecimal digits, unique in the keyring.
  public let id: String
  /// The kind of the secret.
  public let kind: Kind
  /// The owner's name for the slot; see ``Label``. May be empty.
  public let label: String
  /// The time when the secret of the slot was set: ISO 8601, UTC, milliseconds.
  public let createdAt: String
  /// The cost of the passphrase; `nil` for other kinds.
  public let derivation: KeyDerivation?

  /// The salt, 16 random bytes.
  let salt: [UInt8]
  /// The root key under the key of this slot.
  let wrappedRootKey: SealedKey
  /// The 32 bytes by which a secret is checked before anything is decrypted.
  let keyCheck: [UInt8]

  static let saltCount = 16
  static let keyCheckCount = 32

  /// Whether the passphrase of the slot costs less than the defaults of this program.
  ///
  /// ``UnlockedKeyring/upgradingPassphrase(of:_:settings:)`` raises it; the secret stays the same.
  public var needsUpgrade: Bool { derivation?.isWeaker(than: .standard) ?? false }

  static func isWellFormed(id: String) -> Bool {
    id.utf8.count == 8 && id.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
