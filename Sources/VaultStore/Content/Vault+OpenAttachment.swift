import CipherSQL
import SealedFiles
import SyncModel
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
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
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
        remedy: .showAttachments)
    }
    guard content.presence[variant] == .here else {
      let remedy = try syncNow { transaction in
        try transaction.requestDownload(of: content.uuid, variant)
        try SyncSettings.requestRound(in: transaction.connection)
        return try Self.wayToFetch(in: transaction.connection)
      }
      throw VaultError(.notHere, "\(name) is not on this device", remedy: remedy, name: name)
    }
    let reader = try AttachmentReader(content, variant, layout)
    if try database.read({ try AttachmentContentRow.isToBeNotedAsUsed(content.uuid, in: $0) }) {
      try database.write { try AttachmentContentRow.noteUsed(content.uuid, in: $0) }
    }
    return reader
  }

  /// Returns the action that fetches the requested file.
  private static func wayToFetch(in connection: Connection) throws -> Remedy {
    if try SyncSettings.value(.remoteURL, in: connection) == nil {
      return .setRemoteAndSync
    }
    if try SyncSettings.value(.mode, in: connection) == "device" {
      return .leaveDeviceModeAndSync
    }
    return .syncRequestedFile
  }
}
