/// The data of a content's record about its files.
public struct ContentClaim: Equatable, Sendable {
  /// The key of the file, if it is encrypted.
  public var key: [UInt8]
  /// SHA-256 of the content that is not encrypted, in hexadecimal digits; `nil` where the record has no digest.
  public var digest: String?
  /// SHA-256 of the thumbnail that is not encrypted; `nil` where the record has no digest.
  public var thumbnailDigest: String?

  /// Creates a claim.
  public init(key: [UInt8], digest: String?, thumbnailDigest: String? = nil) {
    (self.key, self.digest, self.thumbnailDigest) = (key, digest, thumbnailDigest)
  }
}
