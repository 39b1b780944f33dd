import SyncModel

/// Whether the server has the same bytes as this device. A file with the same name is not sufficient, because another
/// member may have sent other bytes.
public enum FileComparison: Equatable, Sendable {
  /// The same, with the SHA-256 of the server's file in hexadecimal digits.
  case same(sha256: String)
  /// The server has no file, or a different one.
  case different
  /// The server does not provide a digest.
  case unknown

  /// The number of files in one request. A server may have to read files that it never hashed.
  static let greatestCount = 50

  /// Compares the server's file with a file of this device.
  /// - Parameters:
  ///   - held: `nil` if the server has no file with this name.
  ///   - byteCount: the length of the encrypted file on this device.
  ///   - sha256: its SHA-256, in hexadecimal digits.
  ///   - digest: the SHA-256 of the decrypted content, if it is known. The server may store the content decrypted, or
  ///     may have decrypted the file with the key of its record.
  init(_ held: FileDigestsResponse.Held?, byteCount: Int64, sha256: String, digest: String?) {
    guard let held else {
      self = .different
      return
    }
    guard let found = held.sha256 else {
      self = .unknown
      return
    }
    let isFile = found == sha256 && held.byteCount == byteCount
    let isContent = digest.map { $0 == found || $0 == held.contentDigest } ?? false
    self = isFile || isContent ? .same(sha256: found) : .different
  }
}
