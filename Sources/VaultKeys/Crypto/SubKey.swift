import CSodium

/// Keys for one purpose each, derived from a 32-byte key, so that no key has two purposes.
enum SubKey: String {
  // The raw values are the 8-byte contexts of crypto_kdf.
  /// From a slot's key: encrypts the root key.
  case slotWrapping = "FVslotwr"
  /// From a slot's key: the value that distinguishes a wrong secret from a damaged slot.
  case slotCheck = "FVslotck"
  /// From the root key: encrypts the database key.
  case rootWrapping = "FVrootwr"
  /// From the root key: authenticates the whole keyring.
  case rootMAC = "FVrootmc"
  /// From the root key: encrypts backups.
  case rootBackup = "FVrootbk"

  /// Returns sub key number 1 of this purpose, 32 bytes.
  func key(from key: SecureBytes) throws(KeyError) -> SecureBytes { try key.subKey(1, context: rawValue) }
}

extension SecureBytes {
  /// Returns a key of 32 bytes that is derived from this one by `crypto_kdf_derive_from_key`.
  /// - Parameter context: 8 bytes that name the purpose of the derived keys.
  package func subKey(_ number: UInt64, context: String) throws(KeyError) -> SecureBytes {
    precondition(count == Int(crypto_kdf_KEYBYTES) && context.utf8.count == Int(crypto_kdf_CONTEXTBYTES))
    return try SecureBytes(
      count: 32,
      writing: { subKey in
        withPointer { master in
          _ = crypto_kdf_derive_from_key(subKey, 32, number, context, master)
        }
      })
  }
}
