/// The name of a content within an account.
public struct ContentName: Hashable, Sendable {
  /// The variant of a content.
  public enum Variant: String, Sendable {
    /// The full file.
    case full
    /// A small picture of the file.
    case thumbnail
  }

  /// The lowercase UUID of the content.
  public let content: String
  /// The variant of the content.
  public let variant: Variant

  /// Creates a name from its parts.
  public init(content: String, variant: Variant) { (self.content, self.variant) = (content, variant) }
}

/// A new upload.
public struct NewUpload: Sendable {
  /// The user.
  public let userId: Int64
  /// The content that it becomes.
  public let name: ContentName
  /// The final length in bytes; `nil` while it is unknown.
  public let length: Int64?
  /// The client's metadata, unchanged.
  public let metadata: String
  /// The time at which the upload expires, in milliseconds since 1970-01-01 UTC.
  public let expiry: Int64
  /// Whether the records of the content have a key and a digest, so that the finished upload can be compared with them.
  public let isProvable: Bool

  /// Creates an upload from its parts.
  public init(
    userId: Int64, name: ContentName, length: Int64?, metadata: String, expiry: Int64, isProvable: Bool = false
  ) {
    self.userId = userId
    self.name = name
    self.length = length
    self.metadata = metadata
    self.expiry = expiry
    self.isProvable = isProvable
  }
}

/// An upload, in progress or finished.
public struct StoredUpload: Hashable, Sendable {
  /// The id of the upload in addresses: 32 random hexadecimal digits.
  public let id: String
  /// The user.
  public let userId: Int64
  /// The content that it becomes.
  public let name: ContentName
  /// The final length in bytes; `nil` while it is unknown.
  public var length: Int64?
  /// The number of stored bytes.
  public var offset: Int64
  /// The client's metadata, unchanged.
  public let metadata: String
  /// The time at which the upload expires, in milliseconds since 1970-01-01 UTC.
  public var expiry: Int64
  /// Whether the content exists.
  public var isFinished: Bool

  /// Creates an upload from its parts.
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
  /// The name of the content.
  public let name: ContentName
  /// The size in bytes.
  public let byteCount: Int64
  /// The unique tag of the content, which also differs from the tag of a removed content of the same name.
  public let tag: String

  /// Creates a content from its parts.
  public init(name: ContentName, byteCount: Int64, tag: String) {
    self.name = name
    self.byteCount = byteCount
    self.tag = tag
  }
}

/// The digests of a finished content's bytes.
public struct StoredDigest: Hashable, Sendable {
  /// The size in bytes.
  public let byteCount: Int64
  /// The SHA-256 of the bytes, in hexadecimal digits.
  public let sha256: String
  /// SHA-256 of the content that a record's key decrypts, in hexadecimal digits; `nil` if it was not compared.
  public let contentDigest: String?

  /// Creates a digest from its parts.
  public init(byteCount: Int64, sha256: String, contentDigest: String?) {
    (self.byteCount, self.sha256, self.contentDigest) = (byteCount, sha256, contentDigest)
  }
}

/// The reason why a storage of files refuses a request.
public enum FileRefusal: Error, Equatable, Sendable {
  /// A content of that name exists.
  case exists
  /// The upload has a writer.
  case busy
  /// The upload no longer exists.
  case gone
  /// Bytes of the upload were lost. It has to restart.
  case damaged
  /// The bytes are not the content that the records name.
  case mismatch
  /// The user would exceed the quota.
  case overQuota
  /// The disk is full.
  case noSpace
}

/// The rule by which a sweep removes contents that no record needs.
public struct SweepRule: Sendable {
  /// The time of the sweep, in milliseconds since 1970-01-01 UTC.
  public let time: Int64
  /// The time before which contents must have been finished to be removed, if no record ever referenced them.
  public let neverUsedBefore: Int64
  /// Returns the contents among some that records reference, including deleted records that are not forgotten yet.
  public let inUse: @Sendable (_ contents: [String]) async throws -> Set<String>

  /// Creates a rule from its parts.
  public init(
    at time: Int64, neverUsedBefore: Int64,
    inUse: @escaping @Sendable (_ contents: [String]) async throws -> Set<String>
  ) {
    self.time = time
    self.neverUsedBefore = neverUsedBefore
    self.inUse = inUse
  }
}
