extension Keyring {
  /// Returns the secret of a ``KeySlot/Kind/system`` slot from `store`; `nil` if the store has no secret for this
  /// vault.
  ///
  /// A vault that is used on several machines has a slot for each. The slot whose secret this machine has is used.
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
    // Unlocking reports the problem.
    return wrong
  }

  /// Returns the secret, which must exist.
  ///
  /// - Throws: ``KeyError`` `noSlotOfThatKind`, before the store is accessed, or `notInSecretStore`.
  public func requiredSystemSecret(
    in store: @autoclosure () throws(KeyError) -> any SystemSecretStore
  ) throws(KeyError) -> UnlockSecret {
    guard slots.contains(where: { $0.kind == .system }) else { throw noSlot(of: .system) }
    guard let secret = try systemSecret(in: store()) else {
      throw KeyError(
        .notInSecretStore, "the system's secret store has no secret for this vault",
        hint: "it exists only on the machine and for the user that added the slot; unlock with another secret")
    }
    return secret
  }
}

extension UnlockedKeyring {
  /// Returns the keyring with a new slot whose random secret is in `store`. The secret was stored and read back when
  /// the call returns.
  ///
  /// If the changed keyring is not written afterwards, call ``SystemSecretStore/remove(vaultID:slotID:)`` for its
  /// last slot.
  ///
  /// - Throws: ``KeyError`` of ``adding(_:label:settings:)`` and of the store. Nothing remains in the store in this
  ///   case.
  public func addingSystemSlot(
    in store: any SystemSecretStore, label: String = "", settings: KeyringSettings = .standard
  ) throws(KeyError) -> UnlockedKeyring {
    let secret = try SecureBytes.random(count: UnlockSecret.systemCount, from: settings.randomness)
    let changed = try adding(.system(secret), label: label, settings: settings)
    guard let slot = changed.keyring.slots.last else { throw .damaged("it has no slots") }
    let vaultID = keyring.vaultID
    try store.store(
      secret, vaultID: vaultID, slotID: slot.id, label: "FieldVault slot \(slot.id)\(label.isEmpty ? "" : ": \(label)")"
    )
    do throws(KeyError) {
      // The secret that was read back must open the keyring that will be written.
      guard let kept = try store.secret(vaultID: vaultID, slotID: slot.id), kept.isEqual(to: secret) else {
        throw KeyError(
          .secretStoreRefused, "the system's secret store accepted a secret but does not return it",
          hint: "check the store with the system's own program; the vault is unchanged")
      }
      _ = try Keyring(parsing: changed.keyring.serialized()).unlock(with: .system(kept))
    } catch {
      try? store.remove(vaultID: vaultID, slotID: slot.id)
      throw error
    }
    return changed
  }
}
