import CipherSQL
import SealedFiles
import VaultKeys

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Opens an attachment for reading. If the file is not on this device, queues its download for the next sync and
  /// throws `notHere`.
  /// - Throws: ``VaultError`` with `noSuchRecord`, `damaged`, or `notHere`.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func openAttachment(_ uuid: UUID, _ variant: AttachmentVariant = .full) throws -> AttachmentReader {
    // The shared lock prevents the removal of the file while it is being opened.
    let lock = try AttachmentLock(sharing: layout)
    defer { withExtendedLifetime(lock) {} }
    let (name, content) = try database.read { connection -> (String, SealedContent?) in
      let record = try AttachmentRecord.find(uuid.sqlText, entities, in: connection).record
      let content = try record.contentUuid.flatMap { try SealedContent.find($0, in: connection) }
      return (record.fileName ?? record.uuid, content)
    }
    guard let content, variant == .full || content.digests[.thumbnail] != nil else {
      throw VaultError(
        .noSuchRecord, "this attachment has no \(variant == .full ? "content" : "thumbnail")",
        hint: "fieldvault attach list tells what is there")
    }
    guard content.presence[variant] == .here else {
      let hint = try syncNow { transaction in
        try transaction.requestDownload(of: content.uuid, variant)
        try SyncSettings.requestRound(in: transaction.connection)
        return try Self.wayToFetch(in: transaction.connection)
      }
      throw VaultError(.notHere, "\(name) is not on this device", hint: hint, name: name)
    }
    let reader = try AttachmentReader(content, variant, layout)
    if try database.read({ try AttachmentContentRow.isToBeNotedAsUsed(content.uuid, in: $0) }) {
      try database.write { try AttachmentContentRow.noteUsed(content.uuid, in: $0) }
    }
    return reader
  }

  /// Returns a hint that tells the user how to fetch the requested file.
  private static func wayToFetch(in connection: Connection) throws -> String {
    if try SyncSettings.value(.remoteURL, in: connection) == nil {
      return
        "set the server that has it with 'fieldvault remote set URL --token-file FILE', run 'fieldvault sync', then try again"
    }
    if try SyncSettings.value(.mode, in: connection) == "device" {
      return "run 'fieldvault config set mode cloud' and 'fieldvault sync', then try again"
    }
    return "it is asked for now: run 'fieldvault sync', then try again"
  }
}
