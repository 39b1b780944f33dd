#if canImport(CryptoKit)
  import CryptoKit
#else
  import CCrypto
#endif

/// SHA-256 over parts, with the instructions that the processor has for it.
///
/// For one thread at a time.
package final class ContentDigest {
  #if canImport(CryptoKit)
    private var state = SHA256()

    /// Begins a digest.
    package init() {}

    /// Adds the next bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { state.update(bufferPointer: bytes) }

    /// The digest of what was added, 32 bytes. Nothing can be added afterwards.
    package func finishBytes() -> [UInt8] { Array(state.finalize()) }
  #else
    private let context: OpaquePointer

    /// Begins a digest.
    package init() {
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
        // A few hundred bytes and an algorithm that every libcrypto has.
        fatalError("libcrypto cannot begin SHA-256")
      }
      self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds the next bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// The digest of what was added, 32 bytes. Nothing can be added afterwards.
    package func finishBytes() -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: 32)
      _ = EVP_DigestFinal_ex(context, &digest, nil)
      return digest
    }
  #endif

  /// The digest of what was added, as 64 lower-case hexadecimal digits. Nothing can be added afterwards.
  package func finish() -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: finishBytes().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
