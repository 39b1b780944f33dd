import ServerStorage
import SyncModel

/// A file on its way to an object store.
package struct ObjectUpload: Equatable, Sendable {
  /// The last part of the upload's key in the store: 32 random hexadecimal digits.
  package let id: String
  package let userId: Int64
  package let name: ContentName
  package let byteCount: Int64
  /// SHA-256 of the sent bytes, in base64.
  package let sha256: String
  package let contentType: String

  /// Creates an upload.
  package init(
    id: String, userId: Int64, name: ContentName, byteCount: Int64, sha256: String, contentType: String
  ) {
    (self.id, self.userId, self.name) = (id, userId, name)
    (self.byteCount, self.sha256, self.contentType) = (byteCount, sha256, contentType)
  }

  /// Returns whether both uploads announce the same file.
  package func isSame(as other: ObjectUpload) -> Bool {
    (byteCount, sha256, contentType) == (other.byteCount, other.sha256, other.contentType)
  }
}

/// A file that is complete in an object store.
package struct ObjectContent: ComparedFile, Equatable, Sendable {
  package let id: String
  package let byteCount: Int64
  /// SHA-256 of the stored bytes, in hexadecimal digits.
  package let sha256: String?
  /// The content's digest that the key of a record has verified.
  package let contentDigest: String?
  package let isRefuted: Bool
  package let isMissing: Bool

  /// Creates a content.
  package init(
    id: String, byteCount: Int64, sha256: String?, contentDigest: String?, isRefuted: Bool, isMissing: Bool
  ) {
    (self.id, self.byteCount, self.sha256, self.contentDigest) = (id, byteCount, sha256, contentDigest)
    (self.isRefuted, self.isMissing) = (isRefuted, isMissing)
  }
}

/// The rows about an account's files in an object store, within one transaction of an engine.
package protocol ObjectRows {
  /// Returns an upload.
  func upload(_ id: String) throws -> ObjectUpload?
  /// Returns the upload of a content by a user.
  func upload(of userId: Int64, _ name: ContentName) throws -> ObjectUpload?
  /// Returns a content.
  func content(_ name: ContentName) throws -> ObjectContent?
  /// Returns a file of the content on the server's disk, from before there was an object store, by the name of the file.
  func diskFile(_ name: ContentName) throws -> (file: String, state: any ComparedFile)?
  /// Returns the number of bytes that count towards the quota of a user.
  func usedBytes(_ userId: Int64) throws -> Int64
  /// Returns the ids of uploads that have expired.
  func expired(at time: Int64) throws -> [String]
  /// Returns a page of the UUIDs of contents, in order.
  func contents(after last: String, limit: Int) throws -> [String]
  /// Returns some contents, for the check that a bucket is the right one.
  func someContents(limit: Int) throws -> [(id: String, byteCount: Int64)]
  /// Returns the number of contents and unfinished uploads of the account, those on the server's disk included.
  func fileCount() throws -> Int
  /// Returns the number of contents that the account has in the store.
  func contentCount() throws -> Int
  /// Returns the contents that have been missing since a time or longer.
  func missingContents(since time: Int64) throws -> [(id: String, byteCount: Int64, since: Int64)]
  /// Returns the contents that no record has needed since a time or longer.
  func unusedContents(since time: Int64) throws -> [(id: String, since: Int64)]
  /// Returns a page of the ids of objects that may be removed.
  func removals(at time: Int64, limit: Int) throws -> [String]
  /// Returns the marker of this account's bucket, and whether the bucket has it.
  func storeMarker() throws -> (text: String, isInStore: Bool)
}

/// Changes the rows about an account's files in an object store, within one transaction of an engine. The transaction may be
/// repeated.
package protocol ObjectRowsWriting: ObjectRows {
  /// Adds an upload.
  func insert(_ upload: ObjectUpload, addressEnd: Int64, expiry: Int64) throws
  /// Extends the life of an upload's address.
  func extend(_ id: String, addressEnd: Int64, expiry: Int64) throws
  /// Turns an upload into a content.
  func replaceUpload(_ id: String, byContent proof: VerifiedContent, at time: Int64) throws
  /// Cancels an upload. Its bytes are removed from the store, even if they arrive later while its address is valid.
  func abandon(_ id: String) throws
  /// Removes a content, and queues the removal of its object.
  func removeContent(_ id: String, notBefore time: Int64) throws
  /// Removes a file on the server's disk.
  func removeDiskFile(_ file: String) throws
  /// Stores the digests of a content's bytes.
  func keep(_ proof: VerifiedContent, of id: String) throws
  /// Marks a content whose object is missing or has another length.
  func markMissing(_ id: String, at time: Int64) throws
  /// Removes the mark of a content whose object exists again.
  func markFound(_ id: String) throws
  /// Notes that the bucket has the marker.
  func markStore() throws
  /// Notes that the bucket no longer has the marker.
  func unmarkStore() throws
  /// Removes some uploads and contents of an account whose deletion has begun, and queues the removal of their objects. No upload can
  /// begin afterwards. The bytes of files on the server's disk are removed with the folder of the account.
  /// - Returns: the number of removed rows; 0 if none is left.
  func removeFiles(atMost limit: Int) throws -> Int
  /// Notes that records need contents.
  func markUsed(_ contents: [String]) throws
  /// Marks contents with a UUID that no record needs: contents that a record once needed, and contents that were
  /// finished before a time.
  func markUnused(_ contents: [String], neverUsedBefore limit: Int64, at time: Int64) throws
  /// Notes that objects were removed.
  func removed(_ ids: [String]) throws
}

extension ObjectRows {
  /// Returns whether an upload may become the content: no other file has its place, or that file may be replaced.
  package func isFree(_ name: ContentName, proven: Bool) throws -> Bool {
    let held: [(any ComparedFile)?] = [try content(name), try diskFile(name)?.state]
    return held.allSatisfy { $0?.isReplaceable(proven: proven) ?? true }
  }
}

extension ObjectRowsWriting {
  /// Stores a content for an upload whose object was found. A content whose object is missing or refuted is replaced,
  /// and one without proof by one with a proof.
  func finish(_ upload: ObjectUpload, _ proof: VerifiedContent, at time: Int64) throws {
    if let known = try content(upload.name), known.isReplaceable(proven: proof.contentDigest != nil) {
      try removeContent(known.id, notBefore: time + FileSweep.grace)
    }
    try replaceUpload(upload.id, byContent: proof, at: time)
  }

  /// Refuses bytes above the quota.
  func check(_ userId: Int64, quota: Int64) throws {
    guard try usedBytes(userId) <= quota else { throw FileRefusal.overQuota }
  }
}

/// The rows of all accounts about their files in an object store.
package protocol ObjectDatabase: Sendable {
  /// Reads the rows of an account.
  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRows) throws -> Result
  ) async throws -> Result
  /// Changes the rows of an account in one transaction.
  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any ObjectRowsWriting) throws -> Result
  ) async throws -> Result
}
