/// The value of `keyring.json`: which slots open the vault, and the database key of the current generation.
///
/// The value contains no secrets: all its data is encrypted or public. Read and write it with ``KeyringFile``. Changing
/// it needs an ``UnlockedKeyring``, which ``unlock(with:)`` and ``create(with:label:settings:)`` return.
public struct Keyring: Sendable, Equatable {
  /// The id of the vault, a random lowercase UUID.
  public let vaultID: String
  /// The current generation of the database.
  public let generation: Generation
  /// The slots in the order of creation, 1...64.
  public let slots: [KeySlot]
  /// The MAC of all members above, under a key that only an unlocked keyring has.
  let mac: [UInt8]

  /// The largest number of slots.
  public static let maximumSlots = 64
  /// The largest file, in bytes.
  public static let maximumBytes = 1 << 20
  /// The version of the format that this program reads and writes.
  public static let version = 1

  /// One encryption of the whole database under one key.
  public struct Generation: Sendable, Equatable {
    /// The number, 1...999,999,999.
    public let number: Int
    /// The database key under the root key.
    let wrappedDatabaseKey: SealedKey

    static let range = 1...999_999_999
  }

  /// Returns the slot with an id.
  ///
  /// - Throws: ``KeyError`` `noSuchSlot`.
  public func slot(_ id: String) throws(KeyError) -> KeySlot {
    guard let slot = slots.first(where: { $0.id == id }) else {
      throw .noSuchSlot("the keyring has no slot \(Label.isAcceptable(id) ? id : "of that id")")
    }
    return slot
  }

  /// Whether a slot's passphrase costs less than the defaults; see ``KeySlot/needsUpgrade``.
  public var needsUpgrade: Bool { slots.contains(where: \.needsUpgrade) }
}
