/// The name of a content within an account.
public struct ContentName: Hashable, Sendable {
  /// Which of the files of a content.
  public enum Variant: String, Sendable {
    /// The file itself.
    case full
    /// A small picture of it.
    case thumbnail
  }

  /// The uuid of the content, in lower case.
  public let content: String
  /// Which of its files.
  public let variant: Variant

  /// A name from its parts.
  public init(content: String, variant: Variant) { (self.content, self.variant) = (content, variant) }
}

/// An upload that is to begin.
public struct NewUpload: Sendable {
  /// The user.
  public let userId: Int64
  /// The content that it becomes.
  public let name: ContentName
  /// How long it becomes; nil while that is not known.
  public let length: Int64?
  /// The client's metadata, unchanged.
  public let metadata: String
  /// When it is given up, in milliseconds since 1970-01-01 UTC.
  public let expiry: Int64

  /// An upload from its parts.
  public init(userId: Int64, name: ContentName, length: Int64?, metadata: String, expiry: Int64) {
    self.userId = userId
    self.name = name
    self.length = length
    self.metadata = metadata
    self.expiry = expiry
  }
}

/// An upload, under way or finished.
public struct StoredUpload: Hashable, Sendable {
  /// Its name in addresses: 32 random hexadecimal digits.
  public let id: String
  /// The user.
  public let userId: Int64
  /// The content that it becomes.
  public let name: ContentName
  /// How long it becomes; nil while that is not known.
  public var length: Int64?
  /// The number of stored bytes.
  public var offset: Int64
  /// The client's metadata, unchanged.
  public let metadata: String
  /// When it is given up, in milliseconds since 1970-01-01 UTC.
  public var expiry: Int64
  /// Whether the content exists.
  public var isFinished: Bool

  /// An upload from its parts.
  public init(
    id: String, userId: Int64, name: ContentName, length: Int64?, offset: Int64, metadata: String, expiry: Int64,
    isFinished: Bool
  ) {
    self.id = id
    self.userId = userId
    self.name = name
    self.length = length
    self.offset = offset
    self.metadata = metadata
    self.expiry = expiry
    self.isFinished = isFinished
  }
}

/// A finished content.
public struct StoredContent: Hashable, Sendable {
  /// Its name.
  public let name: ContentName
  /// How many bytes it has.
  public let byteCount: Int64
  /// Tells it from every other content, also from one of the same name that was removed.
  public let tag: String

  /// A content from its parts.
  public init(name: ContentName, byteCount: Int64, tag: String) {
    self.name = name
    self.byteCount = byteCount
    self.tag = tag
  }
}

/// The digests of a finished content's bytes.
public struct StoredDigest: Hashable, Sendable {
  /// How many bytes it has.
  public let byteCount: Int64
  /// SHA-256 of them, in hexadecimal digits.
  public let sha256: String
  /// SHA-256 of the content that a record's key decrypts, in hexadecimal digits; `nil` if it was not compared.
  public let contentDigest: String?

  /// A digest from its parts.
  public init(byteCount: Int64, sha256: String, contentDigest: String?) {
    (self.byteCount, self.sha256, self.contentDigest) = (byteCount, sha256, contentDigest)
  }
}

/// The reason why a storage of files refuses a request.
public enum FileRefusal: Error, Equatable, Sendable {
  /// There is a content of that name.
  case exists
  /// The upload has a writer.
  case busy
  /// There is no such upload any more.
  case gone
  /// Bytes of the upload were lost. It has to restart.
  case damaged
  /// The bytes are not the content that the records name.
  case mismatch
  /// The user would have more than the quota.
  case overQuota
  /// The disk is full.
  case noSpace
}

/// Which contents may go when no record needs them.
public struct SweepRule: Sendable {
  /// The time of the sweep, in milliseconds since 1970-01-01 UTC.
  public let time: Int64
  /// Contents that no record ever referred to may go when they were finished before this.
  public let neverUsedBefore: Int64
  /// The contents of these that records reference, including deleted records that are not forgotten yet.
  public let inUse: @Sendable (_ contents: [String]) async throws -> Set<String>

  /// A rule from its parts.
  public init(
    at time: Int64, neverUsedBefore: Int64,
    inUse: @escaping @Sendable (_ contents: [String]) async throws -> Set<String>
  ) {
    self.time = time
    self.neverUsedBefore = neverUsedBefore
    self.inUse = inUse
  }
}
