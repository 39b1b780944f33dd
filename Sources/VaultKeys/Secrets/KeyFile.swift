import Platform

/// Key files: any file of 32 bytes to 1 MiB. Every byte is part of the key.
public enum KeyFile {
  /// The accepted sizes, in bytes.
  public static let sizeRange = 32...(1 << 20)
  /// The first line of the key files that ``create(at:randomness:)`` writes. Any other content is accepted too.
  public static let header = "fieldvault key file, version 1\n"

  /// Reads the content of the key file at `path`.
  ///
  /// - Throws: ``KeyError`` `notFound`, `unreadable` or `badKeyFile`.
  public static func read(at path: String) throws(KeyError) -> SecureBytes {
    let content = try SecretReader.whole(of: SecretSource.file(path: path), limit: sizeRange.upperBound + 1)
    do {
      try check(content)
    } catch {
      throw error.naming(path)
    }
    return content
  }

  /// Returns the content of a new key file: the header, then 32 random bytes as 64 hexadecimal digits and a line feed.
  public static func makeContent(randomness: RandomSource = .system) throws(KeyError) -> SecureBytes {
    let hex = try SecureBytes.random(count: 32, from: randomness).hexText()
    return try SecureBytes(
      count: header.utf8.count + hex.count + 1,
      filling: { target in
        target.copyBytes(from: header.utf8)
        let digits = UnsafeMutableRawBufferPointer(rebasing: target[header.utf8.count...])
        hex.withUnsafeBytes { digits.copyMemory(from: $0) }
        target[target.count - 1] = 0x0A
      })
  }

  /// Writes a key file with the content of ``makeContent(randomness:)``.
  ///
  /// The file has mode 0600 and is on the disk when the call returns. Returns its content for a slot.
  ///
  /// - Throws: ``KeyError`` `alreadyExists`, `noSpace` or `cannotWrite`. Never overwrites.
  public static func create(at path: String, randomness: RandomSource = .system) throws(KeyError) -> SecureBytes {
    let content = try makeContent(randomness: randomness)
    try AtomicFile(path).createSecret(content)
    return content
  }

  /// Replaces the content of the key file at `path`. The new file has mode 0600 and the owner of the former one.
  ///
  /// **After a crash** the file has the former or the new content. When the call returns, the new content is on the disk.
  ///
  /// - Throws: ``KeyError`` `noSpace` or `cannotWrite`. The file is unchanged, unless only the flush of the folder failed.
  public static func replace(at path: String, with content: SecureBytes) throws(KeyError) {
    try content.withUnsafeBytes { bytes throws(KeyError) in
      do throws(FileError) { try AtomicFile(path).replace(with: bytes, keepsOwner: true) } catch {
        throw .writing(error)
      }
    }
  }

  /// Returns the key: plain BLAKE2b of the whole content, 32 bytes.
  static func key(of content: SecureBytes) throws(KeyError) -> SecureBytes {
    try check(content)
    return try Digest.secret(of: content)
  }

  static func check(_ content: SecureBytes) throws(KeyError) {
    guard sizeRange.contains(content.count) else {
      throw bad("a key file must have 32 bytes to 1 MiB; this file has \(content.count > 1 << 20 ? "more" : "fewer")")
    }
    // The classic slip: a file of zeros where random bytes were meant.
    let isUniform = content.withUnsafeBytes { bytes in bytes.dropFirst().allSatisfy { $0 == bytes[0] } }
    if isUniform { throw bad("the key file consists of one repeated byte") }
  }

  private static func bad(_ what: String) -> KeyError {
    KeyError(.badKeyFile, what, hint: "use the key file of this vault, or create a new one")
  }
}
