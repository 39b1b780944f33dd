import HTTPServer
import ServerStorage

/// The storage of the files of a server's accounts. The layer above implements HTTP and tus, so that every engine has
/// the same behaviour. An engine stores, counts and returns bytes.
///
/// An engine must guarantee:
///
/// - An upload becomes a content atomically, with its last byte. No reader ever sees a part of it. A content never
///   changes. A content of the same name that replaces it has another tag.
/// - When ``UploadWriting/commit(at:expiry:quota:)`` returns, the appended bytes are durable, and the offset counts
///   them. After a crash the offset is that of the last commit, and the bytes before it are the committed ones.
/// - An upload has one writer at a time. The next one is refused, and a crash releases the upload.
/// - Accounts do not see each other. The storage chooses names, never from a client's input.
/// - Reading never removes anything. A content whose bytes are missing or have another length is marked, and counts
///   as absent until they reappear or another upload replaces it. A sweep removes only the files that ``FileSweep``
///   names.
/// - Files never take the last space of a disk: the writes that remove files have a reserve.
/// - The space of a user's files and uploads is counted in the same transaction in which they appear and disappear.
///
/// `Tests/FileServerTests/FileConformance.swift` checks an engine.
public protocol FileStorage: Sendable {
  /// Begins an upload.
  /// - Throws: ``FileRefusal`` with `exists` if the content exists and is not refuted, `overQuota` or `noSpace`. A
  ///   provable upload may begin beside a content without proof.
  func begin(_ account: AccountName, _ upload: NewUpload, quota: Int64, at time: Int64) async throws -> StoredUpload

  /// Returns an upload; `nil` if no upload has this id. A finished upload exists until it expires.
  func upload(_ account: AccountName, _ id: String) async throws -> StoredUpload?

  /// Sets the length of an upload that was created without a length.
  /// - Throws: ``FileRefusal`` with `overQuota`, `noSpace`, or `gone`.
  func setLength(_ account: AccountName, _ id: String, to length: Int64, quota: Int64) async throws -> StoredUpload

  /// Opens an upload for writing at its offset.
  /// - Parameter bytes: the number of expected bytes, if it is known. For an upload of unknown length they count
  ///   towards the quota until the writer is closed.
  /// - Throws: ``FileRefusal`` with `busy` while it has a writer, `gone`, `damaged` if bytes before its offset were
  ///   lost, `noSpace` if its rest does not fit on the disk, or `overQuota`.
  func openWriter(
    _ account: AccountName, _ id: String, reserving bytes: Int64, quota: Int64
  ) async throws -> any UploadWriting

  /// Removes an upload and its bytes; of a finished one, the upload alone. An unknown name is ignored.
  /// - Throws: ``FileRefusal`` with `busy` while it has a writer.
  func removeUpload(_ account: AccountName, _ id: String) async throws

  /// Returns a finished content; `nil` if no content has this name.
  func content(_ account: AccountName, _ name: ContentName) async throws -> StoredContent?

  /// Opens the bytes of a finished content.
  func open(_ account: AccountName, _ name: ContentName) async throws -> (StoredContent, OpenedFile)?

  /// Returns the length and the digest of a finished content; `nil` if no content has this name.
  func digest(_ account: AccountName, _ name: ContentName) async throws -> StoredDigest?

  /// Compares a content that was never compared with the claims of its records. A content that differs from its records
  /// counts as absent until an upload replaces it.
  func prove(_ account: AccountName, _ name: ContentName, _ claims: [ContentClaim]) async throws

  /// Removes a content and its bytes. An unknown name is ignored.
  func removeContent(_ account: AccountName, _ name: ContentName) async throws

  /// Returns the number of bytes that count towards the quota of a user.
  func usedBytes(_ account: AccountName, by userId: Int64) async throws -> Int64

  /// Removes uploads that have expired and have no writer.
  func expire(_ account: AccountName, at time: Int64) async throws

  /// Returns whether an upload may have expired, or an object may have to be removed. Opens no account, so that an unknown
  /// account counts as one that may.
  /// - Parameter hasObjects: whether devices transfer files to an object store.
  func mayExpire(_ account: AccountName, at time: Int64, hasObjects: Bool) -> Bool

  /// Reads when the next upload of an account expires, for ``mayExpire(_:at:hasObjects:)`` until the account is used again.
  func readExpiry(_ account: AccountName, at time: Int64) async throws

  /// Marks contents that no record needs and bytes without a row, and removes the files that ``FileSweep`` names.
  func sweep(_ account: AccountName, _ rule: SweepRule) async throws

  /// Closes all databases and files.
  func close()
}

extension FileStorage {
  /// Opens an upload for writing at its offset, with an unknown number of bytes.
  func openWriter(_ account: AccountName, _ id: String) async throws -> any UploadWriting {
    try await openWriter(account, id, reserving: 0, quota: .max)
  }
}

/// An upload while bytes are added to it. Its functions may block; one thread at a time calls them.
public protocol UploadWriting: Sendable {
  /// The upload at the last commit.
  var upload: StoredUpload { get }
  /// Counts this many bytes since the opening towards the quota, before they are committed. An upload of known length
  /// is counted from its beginning. Bytes that are not committed when the writer is closed do not count.
  /// - Throws: ``FileRefusal`` with `overQuota`.
  func reserve(_ bytes: Int64, quota: Int64) throws
  /// Appends bytes. Readers see them after the next commit.
  /// - Throws: ``FileRefusal`` with `noSpace`.
  func append(_ bytes: UnsafeRawBufferPointer) throws
  /// Makes all appended bytes durable, and then the offset. With the last byte the upload becomes a content.
  /// - Parameters:
  ///   - expiry: the new expiry of the upload, in milliseconds since 1970-01-01 UTC.
  ///   - claims: the data of the content's records about it. An upload that they prove replaces a content without proof.
  /// - Throws: ``FileRefusal`` with `overQuota` for an upload of unknown length, `exists` if another upload has
  ///   finished the content first, `mismatch` if the file is not the content that its records name, `gone`, `noSpace`.
  ///   In all cases the offset of the previous commit stays.
  func commit(at time: Int64, expiry: Int64, quota: Int64, claims: [ContentClaim]) throws
  /// Ends the writing. Bytes since the last commit are discarded.
  func close()
}

extension UploadWriting {
  /// Commits an upload whose content no record names.
  func commit(at time: Int64, expiry: Int64, quota: Int64) throws {
    try commit(at: time, expiry: expiry, quota: quota, claims: [])
  }
}
