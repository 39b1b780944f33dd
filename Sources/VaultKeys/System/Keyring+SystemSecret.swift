extension Keyring {
  /// The secret of a ``KeySlot/Kind/system`` slot, as `store` keeps it; nil when it has none for this vault.
  ///
  /// A vault that is used on several machines has a slot for each: the one whose secret is here is taken.
  ///
  /// - Throws: ``KeyError`` `damaged`, and the errors of ``SystemSecretStore/secret(vaultID:slotID:)``.
  public func systemSecret(in store: any SystemSecretStore) throws(KeyError) -> UnlockSecret? {
    var wrong: UnlockSecret?
    for slot in slots where slot.kind == .system {
      guard let bytes = try store.secret(vaultID: vaultID, slotID: slot.id) else { continue }
      let secret = UnlockSecret.system(bytes)
      if try slot.open(with: secret, vaultID: vaultID) != nil { return secret }
      wrong = secret
    }
    // Unlocking says what is wrong with it.
    return wrong
  }

  /// The same where it has to be there.
  ///
  /// - Throws: ``KeyError`` `noSlotOfThatKind`, before the store is asked or looked for, or `notInSecretStore`.
  public func requiredSystemSecret(
    in store: @autoclosure () throws(KeyError) -> any SystemSecretStore
  ) throws(KeyError) -> UnlockSecret {
    guard slots.contains(where: { $0.kind == .system }) else { throw noSlot(of: .system) }
    guard let secret = try systemSecret(in: store()) else {
      throw KeyError(
        .notInSecretStore, "the system's secret store has no secret for this vault",
        hint: "it is kept on the machine and for the user that added the slot; unlock with another secret")
    }
    return secret
  }
}

extension UnlockedKeyring {
  /// With one more slot, whose secret is random and kept by `store`: it is there, and was read back, when the call
  /// returns.
  ///
  /// Where the changed keyring is then not written, call ``SystemSecretStore/remove(vaultID:slotID:)`` for its last
  /// slot.
  ///
  /// - Throws: ``KeyError`` of ``adding(_:label:settings:)`` and of the store; nothing is left in the store then.
  public func addingSystemSlot(
    in store: any SystemSecretStore, label: String = "", settings: KeyringSettings = .standard
  ) throws(KeyError) -> UnlockedKeyring {
    let secret = try SecureBytes.random(count: UnlockSecret.systemCount, from: settings.randomness)
    let changed = try adding(.system(secret), label: label, settings: settings)
    guard let slot = changed.keyring.slots.last else { throw .damaged("there are no slots") }
    let vaultID = keyring.vaultID
    try store.store(
      secret, vaultID: vaultID, slotID: slot.id, label: "FieldVault slot \(slot.id)\(label.isEmpty ? "" : ": \(label)")"
    )
    do throws(KeyError) {
      // What comes back has to open what will be written.
      guard let kept = try store.secret(vaultID: vaultID, slotID: slot.id), kept.isEqual(to: secret) else {
        throw KeyError(
          .secretStoreRefused, "the system's secret store took a secret and does not give it back",
          hint: "look at the store with the system's own program; the vault is as it was")
      }
      _ = try Keyring(parsing: changed.keyring.serialized()).unlock(with: .system(kept))
    } catch {
      try? store.remove(vaultID: vaultID, slotID: slot.id)
      throw error
    }
    return changed
  }
}
