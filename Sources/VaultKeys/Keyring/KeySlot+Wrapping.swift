import Platform

extension KeySlot {
  /// Creates a slot that wraps `rootKey` for `secret`. A passphrase has the cost `settings.derivation`.
  static func wrapping(
    _ rootKey: SecureBytes, for secret: UnlockSecret, vaultID: String, id: String, label: String, createdAt: String?,
    settings: KeyringSettings
  ) throws(KeyError) -> KeySlot {
    try Label.check(label)
    let derivation = secret.kind == .passphrase ? settings.derivation : nil
    let salt = settings.randomness.bytes(saltCount)
    let key = try secret.slotKey(salt: salt, derivation: derivation)
    let context = wrappingContext(vaultID: vaultID, id: id, kind: secret.kind, derivation: derivation)
    return KeySlot(
      id: id, kind: secret.kind, label: label,
      createdAt: createdAt ?? TimestampText.text(settings.now()), derivation: derivation, salt: salt,
      wrappedRootKey: SealedKey(
        sealing: rootKey, under: try SubKey.slotWrapping.key(from: key), context: context,
        randomness: settings.randomness),
      keyCheck: try checkValue(of: key))
  }

  /// Returns the root key; `nil` if `secret` is not that of the slot.
  ///
  /// - Throws: ``KeyError`` `damaged` if the secret is right, but the root key does not open; and the errors of the
  ///   secret.
  func open(with secret: UnlockSecret, vaultID: String) throws(KeyError) -> SecureBytes? {
    guard secret.kind == kind else { return nil }
    let key = try secret.slotKey(salt: salt, derivation: derivation)
    guard Digest.isEqual(try KeySlot.checkValue(of: key), keyCheck) else { return nil }
    let context = KeySlot.wrappingContext(vaultID: vaultID, id: id, kind: kind, derivation: derivation)
    guard let root = try wrappedRootKey.open(with: try SubKey.slotWrapping.key(from: key), context: context) else {
      throw .damaged("the secret belongs to slot \(id), but does not open its root key")
    }
    return root
  }

  /// Returns a hash of a sub key without another use, which reveals nothing about the wrapping key.
  private static func checkValue(of slotKey: SecureBytes) throws(KeyError) -> [UInt8] {
    Digest.mac(Array("fieldvault-keyring/1\nkey-check".utf8), key: try SubKey.slotCheck.key(from: slotKey))
  }

  /// The associated data of a wrapped root key. The key cannot be moved to another vault, slot, kind or cost.
  private static func wrappingContext(vaultID: String, id: String, kind: Kind, derivation: KeyDerivation?) -> String {
    """
    fieldvault-keyring/1
    root-key
    \(vaultID)
    \(id)
    \(kind.rawValue)
    \(derivation?.opsLimit ?? 0)
    \(derivation?.memLimitBytes ?? 0)
    """
  }
}
