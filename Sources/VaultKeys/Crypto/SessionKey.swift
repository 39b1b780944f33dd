import Platform

/// The key of an unlocked vault without its root key, for opening the vault again for a limited time without a secret.
///
/// It opens one keyring, byte for byte, and the database of its generation. It cannot change slots, rotate keys, or
/// create or open backups, because these need the root key.
package struct SessionKey: Sendable {
  /// The SHA-256 of the keyring's text, as 64 lowercase hexadecimal digits.
  package let keyringDigest: String
  /// The slot that opened the keyring, 8 lowercase hexadecimal digits.
  package let slotID: String
  /// The key of the current generation of the database. 32 bytes.
  let databaseKey: SecureBytes

  /// The length of ``serialized()``, in bytes: the digest, the id of the slot and the key.
  package static let serializedCount = digestCount + idCount + keyCount
  private static let digestCount = 64
  private static let idCount = 8
  private static let keyCount = 32

  init(keyringDigest: String, slotID: String, databaseKey: SecureBytes) {
    (self.keyringDigest, self.slotID, self.databaseKey) = (keyringDigest, slotID, databaseKey)
  }

  /// Reads the bytes of ``serialized()``; `nil` for any other content.
  ///
  /// - Throws: ``KeyError`` `outOfMemory`.
  package init?(parsing bytes: UnsafeRawBufferPointer) throws(KeyError) {
    guard bytes.count == Self.serializedCount else { return nil }
    let digest = String(decoding: bytes[..<Self.digestCount], as: UTF8.self)
    let id = String(decoding: bytes[Self.digestCount..<(Self.digestCount + Self.idCount)], as: UTF8.self)
    guard digest.utf8.allSatisfy(Self.isDigit), KeySlot.isWellFormed(id: id) else { return nil }
    let key = UnsafeRawBufferPointer(rebasing: bytes[(Self.digestCount + Self.idCount)...])
    self.init(keyringDigest: digest, slotID: id, databaseKey: try SecureBytes(copying: key))
  }

  /// Returns the value as bytes in guarded memory.
  ///
  /// - Throws: ``KeyError`` `outOfMemory`.
  package func serialized() throws(KeyError) -> SecureBytes {
    try SecureBytes(
      count: Self.serializedCount,
      filling: { target in
        target.copyBytes(from: Array((keyringDigest + slotID).utf8))
        let rest = UnsafeMutableRawBufferPointer(rebasing: target[(Self.digestCount + Self.idCount)...])
        databaseKey.withUnsafeBytes { rest.copyMemory(from: $0) }
      })
  }

  /// Returns whether the value opens a keyring: only the keyring that it was made from.
  package func opens(_ keyring: Keyring) -> Bool { keyring.digest == keyringDigest }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}

extension Keyring {
  /// The SHA-256 of the text, as 64 lowercase hexadecimal digits.
  fileprivate var digest: String { Digest.sha256Hex(serialized()[...]) }

  /// Opens the keyring without a secret.
  ///
  /// - Throws: ``KeyError`` `wrongSecret` unless the session key was made from exactly this keyring.
  package func unlock(with session: SessionKey) throws(KeyError) -> UnlockedKeyring {
    guard session.opens(self) else {
      throw KeyError(
        .wrongSecret, "the keyring has changed since the vault was unlocked", hint: "unlock the vault again")
    }
    return UnlockedKeyring(
      keyring: self, slotID: session.slotID, rootKey: nil, databaseKey: session.databaseKey)
  }
}

extension UnlockedKeyring {
  /// The key that opens the same vault again until its keyring changes.
  package var sessionKey: SessionKey {
    SessionKey(keyringDigest: keyring.digest, slotID: slotID, databaseKey: databaseKey)
  }
}
