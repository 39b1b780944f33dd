#if canImport(CryptoKit)
  import CryptoKit
#else
  import CCrypto
#endif

/// Hashes a content in parts, with the processor's instructions for it.
///
/// For one thread at a time.
package final class ContentDigest {
  /// The hash function.
  package enum Algorithm: Sendable {
    /// FIPS 180-4, 32 bytes: identifies a content.
    case sha256
    /// FIPS 180-4, 20 bytes: only for protocols that require it. It detects transmission errors and is not secure
    /// against an attacker.
    case sha1

    /// The number of bytes of its digests.
    package var byteCount: Int { self == .sha256 ? 32 : 20 }
  }

  #if canImport(CryptoKit)
    private var state: any HashFunction

    /// Begins a digest.
    package init(_ algorithm: Algorithm = .sha256) {
      state =
        switch algorithm {
        case .sha256: SHA256()
        case .sha1: Insecure.SHA1()
        }
    }

    /// Adds the next bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { state.update(bufferPointer: bytes) }

    /// Returns the digest of the added bytes. No bytes can be added afterwards.
    package func finishBytes() -> [UInt8] { state.finalize().withUnsafeBytes { Array($0) } }
  #else
    private let byteCount: Int
    private let context: OpaquePointer

    /// Begins a digest.
    package init(_ algorithm: Algorithm = .sha256) {
      byteCount = algorithm.byteCount
      let type =
        switch algorithm {
        case .sha256: EVP_sha256()
        case .sha1: EVP_sha1()
        }
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, type, nil) == 1 else {
        // A few hundred bytes and algorithms that every libcrypto has.
        fatalError("libcrypto cannot begin a hash")
      }
      self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds the next bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) { _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    /// Returns the digest of the added bytes. No bytes can be added afterwards.
    package func finishBytes() -> [UInt8] {
      var digest = [UInt8](repeating: 0, count: byteCount)
      _ = EVP_DigestFinal_ex(context, &digest, nil)
      return digest
    }
  #endif

  /// Returns the digest of the added bytes in lower-case hexadecimal digits. No bytes can be added afterwards.
  package func finish() -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: finishBytes().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
