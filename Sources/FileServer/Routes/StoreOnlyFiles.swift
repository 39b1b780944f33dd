import HTTPServer
import ServerStorage

/// The file storage of a server that has files in an object store only. It has no content, and takes none.
package struct StoreOnlyFiles: FileStorage {
  /// Creates the storage.
  package init() {}

  package func begin(
    _ account: AccountName, _ upload: NewUpload, quota: Int64, at time: Int64
  ) async throws -> StoredUpload {
    throw FileRefusal.noSpace
  }

  package func upload(_ account: AccountName, _ id: String) async throws -> StoredUpload? { nil }

  package func setLength(
    _ account: AccountName, _ id: String, to length: Int64, quota: Int64
  ) async throws -> StoredUpload {
    throw FileRefusal.gone
  }

  package func openWriter(
    _ account: AccountName, _ id: String, reserving bytes: Int64, quota: Int64
  ) async throws -> any UploadWriting {
    throw FileRefusal.gone
  }

  package func removeUpload(_ account: AccountName, _ id: String) async throws {}
  package func content(_ account: AccountName, _ name: ContentName) async throws -> StoredContent? { nil }
  package func open(_ account: AccountName, _ name: ContentName) async throws -> (StoredContent, OpenedFile)? { nil }
  package func digest(_ account: AccountName, _ name: ContentName) async throws -> StoredDigest? { nil }
  package func prove(_ account: AccountName, _ name: ContentName, _ claims: [ContentClaim]) async throws {}
  package func removeContent(_ account: AccountName, _ name: ContentName) async throws {}
  package func usedBytes(_ account: AccountName, by userId: Int64) async throws -> Int64 { 0 }
  package func expire(_ account: AccountName, at time: Int64) async throws {}

  /// Uploads to the store are looked up in each round.
  package func mayExpire(_ account: AccountName, at time: Int64, hasObjects: Bool) -> Bool { hasObjects }

  package func readExpiry(_ account: AccountName, at time: Int64) async throws {}
  package func sweep(_ account: AccountName, _ rule: SweepRule) async throws {}
  package func close() {}
}
