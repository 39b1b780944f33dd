import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PreparedAttachment {
  /// Makes it part of a record, in the transaction of the caller: file and record are there together, or not at all. A
  /// content that is here already is stored once.
  /// - Parameters:
  ///   - owner: the kind of record, such as `MoistureLog`.
  ///   - uuid: the record.
  ///   - fields: more fields of the record that is made.
  ///   - connection: a transaction of the vault that prepared it.
  /// - Returns: the uuid of the record that was made, a `Photo` in the restoration schema.
  /// - Throws: ``VaultError`` with `noSuchEntity`, `noSuchRecord`, `badValue`, or `refused` for a kind of record that has no
  ///   attachments.
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
      // What a caller gives counts, except what the file itself is.
      let isOfFile = [.contentUuid, .contentKey, .contentDigest, .thumbnailDigest].contains(column)
      if isOfFile { values.removeAll { $0.column == column.rawValue } }
      if !values.contains(where: { $0.column == column.rawValue }) { values.append((column.rawValue, value)) }
    }
    return try writer.add(place.attachment.entity, UUID.version7(), values)
  }

  /// The same content, when its file is here and is still what it should be: a damaged one must not stand for this one.
  private func existingContent(in connection: WriteConnection) throws -> SealedContent? {
    var found: [SealedContent] = []
    try connection.forEach(
      "SELECT \(SealedContent.columns) FROM AttachmentContent WHERE digest = \(digest) AND full = 'here'"
    ) { row in found.append(try SealedContent(row)) }
    return try found.first { content in
      // Attached before, in this transaction or another.
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

  /// Puts the files in their places and writes down that they are there.
  private func store(in connection: WriteConnection) throws -> SealedContent {
    for (variant, part) in parts {
      // Here already when an earlier transaction has done it and was undone.
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
      throw VaultError(.damaged, "a content that was just stored is not there", hint: "fieldvault doctor")
    }
    return stored
  }
}
