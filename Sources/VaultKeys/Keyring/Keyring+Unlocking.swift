extension Keyring {
  /// Opens the keyring with the first slot of the secret's kind that the secret opens.
  ///
  /// Every passphrase slot that is tried costs its Argon2id parameters: about 0.15 s and 64 MiB with the defaults.
  ///
  /// - Throws: ``KeyError`` `wrongSecret` if the secret opens no slot of its kind, `noSlotOfThatKind`, `damaged` if a
  ///   slot opens but the rest of the keyring does not belong to it, `outOfMemory`, and the errors of
  ///   ``UnlockSecret/validate()``.
  public func unlock(with secret: UnlockSecret) throws(KeyError) -> UnlockedKeyring {
    try secret.validate()
    let candidates = slots.filter { $0.kind == secret.kind }
    guard !candidates.isEmpty else { throw noSlot(of: secret.kind) }
    for slot in candidates {
      if let rootKey = try slot.open(with: secret, vaultID: vaultID) {
        return try unlock(slot: slot, rootKey: rootKey)
      }
    }
    throw wrongSecret(secret.kind)
  }

  private func unlock(slot: KeySlot, rootKey: SecureBytes) throws(KeyError) -> UnlockedKeyring {
    guard Digest.isEqual(try expectedMAC(rootKey: rootKey), mac) else {
      throw .damaged("slot \(slot.id) opens, but the MAC of the keyring does not match")
    }
    return try authenticated(slotID: slot.id, rootKey: rootKey)
  }

  /// Returns the keyring with its keys, if the MAC matches.
  func authenticated(slotID: String, rootKey: SecureBytes) throws(KeyError) -> UnlockedKeyring {
    guard let databaseKey = try generation.open(rootKey: rootKey, vaultID: vaultID) else {
      throw .damaged("the root key opens, but the database key of generation \(generation.number) does not")
    }
    return UnlockedKeyring(keyring: self, slotID: slotID, rootKey: rootKey, databaseKey: databaseKey)
  }

  func noSlot(of kind: KeySlot.Kind) -> KeyError {
    let present = KeySlot.Kind.allCases.filter { kind in slots.contains { $0.kind == kind } }
    return KeyError(
      .noSlotOfThatKind, "the keyring has no slot of the kind \(kind.rawValue)",
      hint: "unlock with one of: \(present.map(\.rawValue).joined(separator: ", "))")
  }

  private func wrongSecret(_ kind: KeySlot.Kind) -> KeyError {
    switch kind {
    case .passphrase:
      KeyError(
        .wrongSecret, "the passphrase is wrong: it opens no slot of this vault",
        hint: "check Caps Lock and the keyboard layout, or use a key file or the recovery code")
    case .keyFile:
      KeyError(
        .wrongSecret, "the key file does not belong to this vault: it opens no slot",
        hint: "use another key file; one changed byte makes it a different key")
    case .recovery:
      KeyError(
        .wrongSecret, "the recovery code is typed correctly, but opens no slot of this vault",
        hint: "check whether it belongs to another vault or to a removed slot")
    case .system:
      KeyError(
        .wrongSecret, "the secret in the system's secret store opens no slot of this vault",
        hint: "unlock with another secret, remove the slot and add it again")
    }
  }
}
