import Platform

extension Keyring {
  /// Creates a keyring with one slot: a new vault id, a new root key, and a new database key as generation 1.
  ///
  /// Does not write a file. If the secret is lost, the data is lost: only the slots open the vault.
  ///
  /// - Parameters:
  ///   - secret: unlocks the first slot.
  ///   - label: the owner's name for the slot; see ``Label``.
  /// - Throws: ``KeyError`` `emptySecret`, `secretTooLong`, `badKeyFile`, `badRecoveryCode`, `badLabel` or
  ///   `outOfMemory`.
  public static func create(
    with secret: UnlockSecret, label: String = "", settings: KeyringSettings = .standard
  ) throws(KeyError) -> (keyring: Keyring, unlocked: UnlockedKeyring) {
    let vaultID = UUIDText.text(.version4(random: settings.randomness))
    let rootKey = try SecureBytes.random(count: 32, from: settings.randomness)
    let databaseKey = try SecureBytes.random(count: 32, from: settings.randomness)
    let generation = try Generation(
      number: 1, databaseKey: databaseKey, rootKey: rootKey, vaultID: vaultID, randomness: settings.randomness)
    let slot = try KeySlot.wrapping(
      rootKey, for: secret, vaultID: vaultID, id: KeySlot.freshID(besides: [], from: settings.randomness),
      label: label, createdAt: nil, settings: settings)
    let keyring = try Keyring(vaultID: vaultID, generation: generation, slots: [slot], rootKey: rootKey)
    let unlocked = UnlockedKeyring(keyring: keyring, slotID: slot.id, rootKey: rootKey, databaseKey: databaseKey)
    return (keyring, unlocked)
  }

  /// Creates a keyring with the MAC of its content.
  init(vaultID: String, generation: Generation, slots: [KeySlot], rootKey: SecureBytes) throws(KeyError) {
    let unsigned = Keyring(vaultID: vaultID, generation: generation, slots: slots, mac: [])
    let mac = try unsigned.expectedMAC(rootKey: rootKey)
    self.init(vaultID: vaultID, generation: generation, slots: slots, mac: mac)
  }

  /// Returns the keyed BLAKE2b of the file's text up to the line of the MAC.
  func expectedMAC(rootKey: SecureBytes) throws(KeyError) -> [UInt8] {
    Digest.mac(Array(authenticatedText.utf8), key: try SubKey.rootMAC.key(from: rootKey))
  }
}

extension Keyring.Generation {
  /// Returns a generation whose key is wrapped by the root key.
  init(
    number: Int, databaseKey: SecureBytes, rootKey: SecureBytes, vaultID: String, randomness: RandomSource
  ) throws(KeyError) {
    self.number = number
    wrappedDatabaseKey = SealedKey(
      sealing: databaseKey, under: try SubKey.rootWrapping.key(from: rootKey),
      context: Self.context(vaultID: vaultID, number: number), randomness: randomness)
  }

  /// Returns the database key; `nil` for another root key or a changed bit.
  func open(rootKey: SecureBytes, vaultID: String) throws(KeyError) -> SecureBytes? {
    try wrappedDatabaseKey.open(
      with: try SubKey.rootWrapping.key(from: rootKey), context: Self.context(vaultID: vaultID, number: number))
  }

  /// The associated data of a wrapped database key. The key cannot be moved to another vault or generation.
  private static func context(vaultID: String, number: Int) -> String {
    "fieldvault-keyring/1\ndatabase-key\n\(vaultID)\n\(number)"
  }
}

extension KeySlot {
  /// Returns a random id that no slot of `slots` has.
  static func freshID(besides slots: [KeySlot], from randomness: RandomSource) -> String {
    while true {
      let id = HexText.text(randomness.bytes(4))
      if !slots.contains(where: { $0.id == id }) { return id }
    }
  }
}
