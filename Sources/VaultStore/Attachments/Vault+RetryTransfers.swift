import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Makes failed and delayed transfers due at once.
  /// - Parameter attachment: restricts the transfers to one attachment; `nil` for all.
  /// - Returns: the number of transfers.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func retryTransfers(of attachment: UUID? = nil) throws -> Int {
    try syncNow { transaction in
      var content: String?
      if let attachment {
        let record = try AttachmentRecord.find(attachment.sqlText, entities, in: transaction.connection).record
        guard let uuid = record.contentUuid else { return 0 }
        content = uuid
      }
      let count = try transaction.retryTransfers(of: content)
      if count > 0 { try SyncSettings.requestRound(in: transaction.connection) }
      return count
    }
  }
}
