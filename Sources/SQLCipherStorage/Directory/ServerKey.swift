import CSodium
import CipherSQL
import VaultKeys

/// The secret of a server, from which the keys of its databases are derived.
struct ServerKey: Sendable {
  private let content: SecureBytes

  /// Creates the key of a key file with this content.
  init(_ content: SecureBytes) { self.content = content }

  /// Reads the key of a file.
  /// - Throws: `KeyError`.
  init(at path: String) throws { self.init(try KeyFile.read(at: path)) }

  /// Returns a digest by which keys are compared. It does not reveal the key.
  func digest() throws -> String {
    try databaseKey("digest").withKeyBytes { HexText.text(Array($0)) }
  }

  /// Returns the key of a database: BLAKE2b of its name under the secret.
  func databaseKey(_ name: String) throws -> any EncryptionKey {
    let bytes = Array("fieldvault-server 1 \(name)".utf8)
    // A key of BLAKE2b has at most 64 bytes, and the content of a key file may have more.
    let secret = try content.withUnsafeBytes { content in
      try Self.hash(content.bindMemory(to: UInt8.self), keyed: nil)
    }
    return try bytes.withUnsafeBufferPointer { name in DerivedKey(bytes: try Self.hash(name, keyed: secret)) }
  }

  private static func hash(_ message: UnsafeBufferPointer<UInt8>, keyed key: SecureBytes?) throws -> SecureBytes {
    try SecureBytes(count: 32) { output in
      guard let target = output.bindMemory(to: UInt8.self).baseAddress else { return }
      guard let key else {
        _ = crypto_generichash(target, 32, message.baseAddress, UInt64(message.count), nil, 0)
        return
      }
      key.withUnsafeBytes { key in
        _ = crypto_generichash(
          target, 32, message.baseAddress, UInt64(message.count), key.bindMemory(to: UInt8.self).baseAddress, 32)
      }
    }
  }

  private struct DerivedKey: EncryptionKey {
    let bytes: SecureBytes

    func withKeyBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
      try bytes.withUnsafeBytes(body)
    }
  }
}
