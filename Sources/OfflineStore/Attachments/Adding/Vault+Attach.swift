import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Takes files in as attachments of a record, all or none.
  /// - Parameter progress: called with the file, the bytes of it that are done, and its bytes in all; may throw to end it.
  /// - Returns: the uuids of the records that were made, in the order of the files.
  /// - Throws: as ``prepareAttachment(from:settings:progress:)`` and ``PreparedAttachment/attach(to:_:fields:in:)``.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func attach(
    _ paths: [String], to owner: Entity, _ uuid: UUID,
    progress: (_ path: String, _ done: Int, _ total: Int) throws -> Void = { _, _, _ in }
  ) throws -> [UUID] {
    // Before anything is read, so that a mistyped uuid costs no time.
    let place = try AttachmentPlace.find(for: owner, in: entities)
    try database.read { _ = try place.references(to: owner, uuid.sqlText, in: $0) }
    let records: [UUID]
    do {
      records = try attachAll(paths, to: owner, uuid, progress)
    } catch {
      // What has failed is what counts. The files of a transaction that was undone belong to no record.
      sweepIfPossible()
      throw error
    }
    evictIfPossible()
    return records
  }

  private func attachAll(
    _ paths: [String], to owner: Entity, _ uuid: UUID, _ progress: (String, Int, Int) throws -> Void
  ) throws -> [UUID] {
    let lock = try AttachmentLock(sharing: layout)
    let prepared = try paths.map { path in
      try prepareAttachment(from: path, settings: nil, under: lock) { try progress(path, $0, $1) }
    }
    let records = try database.write { connection in
      try prepared.map { try $0.attach(to: owner.type, uuid, in: connection) }
    }
    withExtendedLifetime(prepared) {}
    return records
  }

  /// Deletes attachments, as any record is deleted: others are told, and until then they can be brought back. What nobody
  /// has to be told of goes at once, with its key.
  /// - Returns: how many records were marked.
  /// - Throws: ``VaultError`` with `noSuchRecord`; then none is deleted.
  public func removeAttachments(_ uuids: [UUID]) throws -> Int {
    let count = try database.write { connection in
      let writer = RecordWriter(connection, entities: entities)
      return try uuids.reduce(0) { count, uuid in
        let (attachment, _) = try AttachmentRecord.find(uuid.sqlText, entities, in: connection)
        return try count + writer.delete(attachment.entity, uuid)
      }
    }
    _ = try syncNow { try $0.purgeDeleted(limit: 5_000) }
    try sweepAttachments()
    return count
  }
}
