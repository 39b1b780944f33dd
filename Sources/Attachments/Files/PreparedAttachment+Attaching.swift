import CipherSQL
import Platform
import RecordStore
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PreparedAttachment {
  /// Creates the attachment record in the caller's transaction. The file and the record are committed together or
  /// not at all. Content that is already stored on this device is reused.
  /// - Parameters:
  ///   - owner: the entity of the owner, such as `MoistureLog`.
  ///   - uuid: the owner record.
  ///   - fields: further fields of the new record.
  ///   - connection: a transaction of the vault that prepared the attachment.
  /// - Returns: the uuid of the new record, a `Photo` in the restoration schema.
  /// - Throws: ``VaultError`` with `noSuchEntity`, `noSuchRecord`, `badValue`, or `refused` for an entity that has
  ///   no attachments.
  @discardableResult
  public func attach(
    to owner: String, _ uuid: UUID, fields: [(name: String, value: FieldInput)] = [], in connection: WriteConnection
  ) throws -> UUID {
    let owner = try entities.entity(owner)
    let place = try AttachmentPlace.find(for: owner, in: entities)
    var values = try place.references(to: owner, uuid.sqlText, in: connection)
    let writer = RecordWriter(connection, entities: entities)
    for (name, input) in fields {
      let column = try place.attachment.entity.settableColumn(name)
      values.removeAll { $0.column == name }
      values.append((name, try writer.value(input, for: column, of: place.attachment.entity)))
    }
    let content = try existingContent(in: connection) ?? store(in: connection)
    let facts: [(AttachmentEntity.Column, SQLArgument)] = [
      (.contentUuid, .text(content.uuid)), (.contentKey, .blob(content.key.withUnsafeBytes { Array($0) })),
      (.contentDigest, .text(digest)), (.thumbnailDigest, content.digests[.thumbnail].sqlArgument),
      (.fileName, .text(fileName)), (.fileSize, .integer(Int64(byteCount))), (.mimeType, .text(mimeType)),
      (.width, look.width.sqlArgument), (.height, look.height.sqlArgument), (.capturedAt, look.capturedAt.sqlArgument),
    ]
    for (column, value) in facts where place.attachment.has(column) && value != .null {
      // Values from the caller take precedence, except in the columns that identify the file.
      let isOfFile = [.contentUuid, .contentKey, .contentDigest, .thumbnailDigest].contains(column)
      if isOfFile { values.removeAll { $0.column == column.rawValue } }
      if !values.contains(where: { $0.column == column.rawValue }) { values.append((column.rawValue, value)) }
    }
    return try writer.add(place.attachment.entity, connection.environment.uuids.next(), values)
  }

  /// Returns the stored content with the same digest, if its file exists and passes verification. A damaged file
  /// must not replace this one.
  private func existingContent(in connection: WriteConnection) throws -> SealedContent? {
    var found: [SealedContent] = []
    try connection.forEach(
      "SELECT \(SealedContent.columns) FROM AttachmentContent WHERE digest = \(digest) AND full = 'here'"
    ) { row in found.append(try SealedContent(row)) }
    return try found.first { content in
      // An earlier call attached this content, in this transaction or another one.
      if content.uuid == contentUuid { return true }
      do {
        try content.verify(.full, in: layout)
        return true
      } catch let error as VaultError
        where error.code == .damaged || error.code == .unreadable || error.code == .refused
      {
        return false
      }
    }
  }

  /// Moves the files to their final paths and inserts the row of the content.
  private func store(in connection: WriteConnection) throws -> SealedContent {
    for (variant, part) in parts {
      // An earlier transaction that was rolled back may already have moved the file.
      guard Files.exists(part.path) || !Files.exists(layout.attachmentFile(contentUuid, variant)) else { continue }
      try Files.rename(part.path, to: layout.attachmentFile(contentUuid, variant))
    }
    try Files.syncFolder(layout.attachmentFolder(of: contentUuid))
    try connection.execute(
      """
      INSERT INTO AttachmentContent (contentUuid, contentKey, digest, byteCount, thumbnailDigest, note, full, fullBytes,
        thumbnail, thumbnailBytes)
      VALUES (\(contentUuid), \(key.withUnsafeBytes { Array($0) }), \(digest), \(byteCount),
        \((parts[.thumbnail]?.digest).sqlArgument), \(note.sqlArgument), 'here', \(parts[.full]?.sealedBytes ?? 0),
        \(parts[.thumbnail] == nil ? "absent" : "here"), \((parts[.thumbnail]?.sealedBytes).sqlArgument))
      """)
    try AttachmentContentRow.queueUploads(of: contentUuid, in: connection)
    guard let stored = try SealedContent.find(contentUuid, in: connection) else {
      throw VaultError(.damaged, "stored content is missing", remedy: .checkVault)
    }
    return stored
  }
}
