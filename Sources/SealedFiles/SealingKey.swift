import VaultKeys

/// The key of a content, 32 random bytes in guarded memory. It is stored only in the content's encrypted row. Without
/// the row, the file cannot be decrypted.
package struct SealingKey: Sendable {
  /// The size of a key, in bytes.
  package static let byteCount = 32

  private let bytes: SecureBytes

  /// A fresh key.
  package static func random() throws(SealedFileError) -> SealingKey {
    do {
      return SealingKey(bytes: try SecureBytes.random(count: byteCount))
    } catch {
      throw .memory(error)
    }
  }

  private init(bytes: SecureBytes) { self.bytes = bytes }

  /// Creates the key of a row. The array is overwritten with zeros.
  /// - Throws: ``SealedFileError`` `badKey` when it is not 32 bytes long.
  package init(wiping bytes: inout [UInt8]) throws(SealedFileError) {
    guard bytes.count == Self.byteCount else {
      throw SealedFileError(
        .badKey, "the key of a content has \(bytes.count) bytes, not 32", hint: "restore the row from a backup")
    }
    do {
      self.bytes = try SecureBytes(wiping: &bytes)
    } catch {
      throw .memory(error)
    }
  }

  /// Passes the key to a closure that stores it in the row. The pointer must not leave the closure.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes(body)
  }

  /// The key of one segment: sub key number `segment` in the context of the variant.
  func segmentKey(_ segment: Int, of variant: SealedFileVariant) throws(SealedFileError) -> SecureBytes {
    do {
      return try bytes.subKey(UInt64(segment), context: variant.derivationContext)
    } catch {
      throw .memory(error)
    }
  }
}

extension SealedFileVariant {
  /// The 8-byte context of crypto_kdf, so that the two files of a content have no key in common.
  fileprivate var derivationContext: String {
    switch self {
    case .full: "FVfilefl"
    case .thumbnail: "FVfileth"
    }
  }
}
