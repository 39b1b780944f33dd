import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Calls `body` with each attachment that is not deleted, by entity and then in the order in which the records
  /// were added on this device.
  /// - Parameter owner: restricts the attachments to those of one record.
  /// - Throws: ``VaultError`` with `noSuchRecord`, or `refused` for an entity that has no attachments.
  public func forEachAttachment(
    of owner: (entity: Entity, uuid: String)? = nil, _ body: (AttachmentRecord) throws -> Void
  ) throws {
    try database.read { connection in
      guard let owner else {
        for attachment in entities.attachments {
          try AttachmentRecord.forEach(of: attachment, in: entities, where: "1", connection, body)
        }
        return
      }
      let place = try AttachmentPlace.find(for: owner.entity, in: entities)
      let key = try place.references(to: owner.entity, owner.uuid, in: connection).first?.value ?? .null
      try AttachmentRecord.forEach(
        of: place.attachment, in: entities, where: "record.\(identifier: place.column) = \(key)", connection, body)
    }
  }

  /// Returns the attachment with a uuid.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func attachment(_ uuid: UUID) throws -> AttachmentRecord {
    try database.read { try AttachmentRecord.find(uuid.sqlText, entities, in: $0).record }
  }
}

extension Vault {
  /// Returns the settings of the vault for its attachment files.
  public func attachmentSettings() throws -> AttachmentSettings {
    try database.read { try AttachmentSettings.read(from: $0) }
  }

  /// Returns the disk usage of the attachment files and the number of waiting transfers.
  public func attachmentUsage() throws -> AttachmentUsage { try database.read { try AttachmentUsage.read(from: $0) } }
}
