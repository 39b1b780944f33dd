import SyncModel

/// Whether the server holds the bytes that this device has. That it has something under the same name does not prove it: another
/// member may have sent other bytes.
public enum FileComparison: Equatable, Sendable {
  /// The same, with the SHA-256 of the server's file in hexadecimal digits.
  case same(sha256: String)
  /// Nothing, or something else.
  case different
  /// The server does not tell.
  case unknown

  /// How many files are compared with one request: a server may have to read files that it never hashed.
  static let greatestCount = 50

  /// Compares what the server holds with a file of this device.
  /// - Parameters:
  ///   - held: nil when the server has nothing under the name.
  ///   - byteCount: the length of the file as it is here, encrypted.
  ///   - sha256: its SHA-256, in hexadecimal digits.
  ///   - digest: SHA-256 of the content that is encrypted in it, where it is known: the server may hold the content as it is, or
  ///     have opened the file with the key of its record.
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
