extension UnlockedKeyring {
  /// Returns the keyring with a new slot at the end of ``Keyring/slots``. The other slots are unchanged.
  ///
  /// - Throws: ``KeyError`` `limitReached` at 64 slots, `badLabel`, `outOfMemory`, and the errors of
  ///   ``UnlockSecret/validate()``.
  public func adding(
    _ secret: UnlockSecret, label: String = "", settings: KeyringSettings = .standard
  ) throws(KeyError) -> UnlockedKeyring {
    try secret.validate()
    guard keyring.slots.count < Keyring.maximumSlots else {
      throw KeyError(
        .limitReached, "the keyring already has \(Keyring.maximumSlots) slots, the maximum",
        hint: "remove a slot that is no longer used")
    }
    let slot = try KeySlot.wrapping(
      rootKey, for: secret, vaultID: keyring.vaultID,
      id: KeySlot.freshID(besides: keyring.slots, from: settings.randomness), label: label, createdAt: nil,
      settings: settings)
    return try replacing(slots: keyring.slots + [slot])
  }

  /// Returns the keyring without a slot. The slot's secret does not open the new keyring. It still opens copies of
  /// the old one.
  ///
  /// - Throws: ``KeyError`` `noSuchSlot`, or `lastSlot` if no slot would be left.
  public func removingSlot(_ id: String) throws(KeyError) -> UnlockedKeyring {
    _ = try keyring.slot(id)
    guard keyring.slots.count > 1 else {
      throw KeyError(
        .lastSlot, "slot \(id) is the last slot that opens the vault",
        hint: "add another slot first")
    }
    return try replacing(slots: keyring.slots.filter { $0.id != id })
  }

  /// Returns the keyring with another passphrase in a passphrase slot. The slot keeps its id and its label.
  ///
  /// The database key stays, so this does not help against an attacker with a copy of the keys.
  ///
  /// - Throws: ``KeyError`` `noSuchSlot`, also for a slot of another kind, `outOfMemory`, and the errors of
  ///   ``UnlockSecret/validate()``.
  public func changingPassphrase(
    of id: String, to passphrase: SecureBytes, settings: KeyringSettings = .standard
  ) throws(KeyError) -> UnlockedKeyring {
    let slot = try passphraseSlot(id)
    return try rewrapping(slot, for: .passphrase(passphrase), createdAt: nil, settings: settings)
  }

  /// Returns the keyring with the cost of a passphrase slot raised to that of the settings. Never lowers a parameter.
  ///
  /// The passphrase must be that of the slot: it is tried first. Call this after unlocking if ``KeySlot/needsUpgrade``
  /// is `true`.
  ///
  /// - Throws: ``KeyError`` `wrongSecret`, `noSuchSlot`, also for a slot of another kind, or `outOfMemory`.
  public func upgradingPassphrase(
    of id: String, _ passphrase: SecureBytes, settings: KeyringSettings = .standard
  ) throws(KeyError) -> UnlockedKeyring {
    let slot = try passphraseSlot(id)
    let secret = UnlockSecret.passphrase(passphrase)
    guard try slot.open(with: secret, vaultID: keyring.vaultID) != nil else {
      throw KeyError(
        .wrongSecret, "the passphrase does not open slot \(id)", hint: "upgrade the slot that the passphrase opens")
    }
    var raised = settings
    raised.derivation = slot.derivation?.raised(to: settings.derivation) ?? settings.derivation
    return try rewrapping(slot, for: secret, createdAt: slot.createdAt, settings: raised)
  }

  private func passphraseSlot(_ id: String) throws(KeyError) -> KeySlot {
    let slot = try keyring.slot(id)
    guard slot.kind == .passphrase else {
      throw .noSuchSlot("slot \(id) is a \(slot.kind.rawValue) slot and has no passphrase")
    }
    return slot
  }

  private func rewrapping(
    _ slot: KeySlot, for secret: UnlockSecret, createdAt: String?, settings: KeyringSettings
  ) throws(KeyError) -> UnlockedKeyring {
    try secret.validate()
    let fresh = try KeySlot.wrapping(
      rootKey, for: secret, vaultID: keyring.vaultID, id: slot.id, label: slot.label, createdAt: createdAt,
      settings: settings)
    return try replacing(slots: keyring.slots.map { $0.id == slot.id ? fresh : $0 })
  }
}
