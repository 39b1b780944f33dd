import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Vault {
  /// Attaches files to a record in one transaction: either all files or none.
  /// - Parameter progress: receives the path, the bytes of it that are done and its size in bytes. It may throw to
  ///   cancel.
  /// - Returns: the uuids of the new records, in the order of the files.
  /// - Throws: as ``prepareAttachment(from:settings:progress:)`` and
  ///   ``PreparedAttachment/attach(to:_:fields:in:)``.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func attach(
    _ paths: [String], to owner: Entity, _ uuid: UUID,
    progress: (_ path: String, _ done: Int, _ total: Int) throws -> Void = { _, _, _ in }
  ) throws -> [UUID] {
    // Check the owner before any file is read, so that a mistyped uuid fails fast.
    let place = try AttachmentPlace.find(for: owner, in: entities)
    try database.read { _ = try place.references(to: owner, uuid.sqlText, in: $0) }
    let records: [UUID]
    do {
      records = try attachAll(paths, to: owner, uuid, progress)
    } catch {
      // Files of a rolled-back transaction belong to no record. Rethrow the original failure even if the sweep
      // fails.
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

  /// Deletes attachment records and queues the deletions. Deleted attachments can be restored until they are
  /// purged. A deletion that the server need not learn of is purged at once, with the content's key.
  /// - Returns: the number of records marked as deleted.
  /// - Throws: ``VaultError`` with `noSuchRecord`; then no record is deleted.
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
