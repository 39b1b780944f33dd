/// The injected settings for creating and changing a keyring: cost, randomness and time.
public struct KeyringSettings: Sendable {
  /// The Argon2id parameters of passphrase slots that are made or changed.
  public var derivation: KeyDerivation
  /// Where keys, salts, nonces and ids come from.
  public var randomness: Randomness
  /// The time, in milliseconds since 1970-01-01 UTC, for `createdAt` of a slot.
  public var now: @Sendable () -> Int64

  /// Settings; each has the default that a program wants.
  public init(
    derivation: KeyDerivation = .standard, randomness: Randomness = .system,
    now: @escaping @Sendable () -> Int64 = Timestamp.systemMilliseconds
  ) {
    self.derivation = derivation
    self.randomness = randomness
    self.now = now
  }

  /// The default cost, the random numbers of the system and its clock.
  public static let standard = KeyringSettings()
}
