import CipherSQL
import RecordStore

/// The invariant between attachment files and their uploads: each local file that the server lacks is queued.
package enum AttachmentInvariants {
  /// Returns a sentence with a count if the invariant is violated.
  package static func violations(_ catalog: SyncCatalog, in connection: Connection) throws -> [String] {
    guard keepsFiles(catalog) else { return [] }
    let full = AttachmentContentRow.unqueued(.full), thumbnail = AttachmentContentRow.unqueued(.thumbnail)
    let count =
      try connection.fetchOne(
        "SELECT count(*) FROM AttachmentContent AS content WHERE (\(full)) OR (\(thumbnail))", as: Int.self) ?? 0
    switch count {
    case 0: return []
    case 1: return ["1 file is neither on the server nor queued for upload"]
    default: return ["\(count) files are neither on the server nor queued for upload"]
    }
  }

  /// Queues the uploads that are missing.
  package static func restore(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    if keepsFiles(catalog) { try AttachmentContentRow.queueUploads(of: nil, in: connection) }
  }

  private static func keepsFiles(_ catalog: SyncCatalog) -> Bool {
    catalog.entities.catalog.tables.contains { $0.name == "AttachmentTransfer" }
  }
}
