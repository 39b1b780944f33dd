import VaultKeys

/// Returns a key file of 64 bytes that depend on a number. Unlocking with a key file is fast.
package func keyFileSecret(_ number: UInt8 = 1) throws -> UnlockSecret {
  var bytes = (0..<64).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ number }
  return .keyFile(try SecureBytes(wiping: &bytes))
}

/// Returns a passphrase. Unlocking with a passphrase is slow by design.
package func passphraseSecret(_ text: String = "a passphrase") throws -> UnlockSecret {
  var bytes = Array(text.utf8)
  return .passphrase(try SecureBytes(wiping: &bytes))
}
