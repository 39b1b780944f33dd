/// The data of a content's record about its files.
public struct ContentClaim: Equatable, Sendable {
  /// Opens the file when it is encrypted.
  public var key: [UInt8]
  /// SHA-256 of the content that is not encrypted, in hexadecimal digits; `nil` where the record has no digest.
  public var digest: String?
  /// The same of its thumbnail.
  public var thumbnailDigest: String?

  /// A claim.
  public init(key: [UInt8], digest: String?, thumbnailDigest: String? = nil) {
    (self.key, self.digest, self.thumbnailDigest) = (key, digest, thumbnailDigest)
  }
}
