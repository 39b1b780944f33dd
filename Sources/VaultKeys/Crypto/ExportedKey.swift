import Platform

/// The database key in the format of other programs, for reading a vault with any SQLCipher.
public enum ExportedKey {
  /// Writes `x'64 hexadecimal digits'` and a line feed to a new file with mode 0600.
  ///
  /// The file opens the database until the key is rotated.
  ///
  /// - Throws: ``KeyError`` `alreadyExists`, `noSpace` or `cannotWrite`. Never overwrites.
  public static func write(_ databaseKey: SecureBytes, at path: String) throws(KeyError) {
    let hex = try databaseKey.hexText()
    let text = try SecureBytes(
      count: hex.count + 4,
      filling: { target in
        target.copyBytes(from: "x'".utf8)
        hex.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: target[2...]).copyMemory(from: $0) }
        UnsafeMutableRawBufferPointer(rebasing: target[(hex.count + 2)...]).copyBytes(from: "'\n".utf8)
      })
    try AtomicFile(path).createSecret(text)
  }
}
