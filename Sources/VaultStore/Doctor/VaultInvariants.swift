import Attachments
import CipherSQL
import Outbox
import RecordStore

/// The invariants between records, outbox, conflicts and attachment files.
package enum VaultInvariants {
  /// Returns a sentence with a count for each violated invariant.
  package static func violations(_ catalog: SyncCatalog, in connection: Connection) throws -> [String] {
    try SyncInvariants(catalog: catalog, connection: connection).violations()
      + AttachmentInvariants.violations(catalog, in: connection)
  }

  /// Repairs violated invariants without discarding a change.
  package static func restore(_ catalog: SyncCatalog, on connection: WriteConnection) throws {
    try SyncInvariants.restore(catalog, on: connection)
    try AttachmentInvariants.restore(catalog, on: connection)
  }
}
