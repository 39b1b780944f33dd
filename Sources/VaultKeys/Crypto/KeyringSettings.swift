import Platform

/// The injected settings for creating and changing a keyring: cost, randomness and time.
public struct KeyringSettings: Sendable {
  /// The Argon2id parameters of passphrase slots that are created or changed.
  public var derivation: KeyDerivation
  /// The source of keys, salts, nonces and ids.
  public var randomness: RandomSource
  /// The time, in milliseconds since 1970-01-01 UTC, for `createdAt` of a slot.
  public var now: @Sendable () -> Int64

  /// Creates settings. Each has a default that suits programs; `nil` is the time of the system.
  public init(
    derivation: KeyDerivation = .standard, randomness: RandomSource = .system,
    now: (@Sendable () -> Int64)? = nil
  ) {
    self.derivation = derivation
    self.randomness = randomness
    self.now = now ?? Clock.system.now
  }

  /// The default cost, the random numbers of the system and its clock.
  public static let standard = KeyringSettings()
}
