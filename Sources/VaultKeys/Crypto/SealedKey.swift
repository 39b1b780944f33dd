import CSodium
import Platform

/// A 32-byte key that is encrypted under another key: XChaCha20-Poly1305 with associated data.
struct SealedKey: Sendable, Equatable {
  static let nonceCount = 24
  static let ciphertextCount = 48

  /// The nonce, 24 random bytes.
  let nonce: [UInt8]
  /// The 32 encrypted bytes and the 16-byte tag.
  let ciphertext: [UInt8]

  init(nonce: [UInt8], ciphertext: [UInt8]) {
    self.nonce = nonce
    self.ciphertext = ciphertext
  }

  /// Encrypts `key` under `wrappingKey`; it can be opened only with the same `context`.
  init(sealing key: SecureBytes, under wrappingKey: SecureBytes, context: String, randomness: RandomSource) {
    precondition(key.count == 32 && wrappingKey.count == 32)
    let associated = Array(context.utf8)
    let nonce = randomness.bytes(SealedKey.nonceCount)
    var output = [UInt8](repeating: 0, count: SealedKey.ciphertextCount)
    key.withPointer { plain in
      wrappingKey.withPointer { outer in
        _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
          &output, nil, plain, 32, associated, UInt64(associated.count), nil, nonce, outer)
      }
    }
    self.init(nonce: nonce, ciphertext: output)
  }

  /// Decrypts the key; `nil` for another wrapping key or context, or a changed bit.
  func open(with wrappingKey: SecureBytes, context: String) throws(KeyError) -> SecureBytes? {
    guard wrappingKey.count == 32, nonce.count == SealedKey.nonceCount, ciphertext.count == SealedKey.ciphertextCount
    else { return nil }
    let associated = Array(context.utf8)
    var authentic = false
    let key = try SecureBytes(
      count: 32,
      writing: { plain in
        let status = wrappingKey.withPointer { outer in
          crypto_aead_xchacha20poly1305_ietf_decrypt(
            plain, nil, nil, ciphertext, UInt64(ciphertext.count), associated, UInt64(associated.count), nonce, outer)
        }
        authentic = status == 0
      })
    return authentic ? key : nil
  }
}
