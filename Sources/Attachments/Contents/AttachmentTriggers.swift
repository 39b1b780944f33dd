import CipherSQL
import RecordStore
import SchemaModel

/// The triggers that keep `AttachmentContent` equal to the contents that records name, and copy the state of an
/// upload into these records.
///
/// They do the same on a server, where the rows show which contents are referenced. Invalid values (no UUID, or no
/// key of 32 bytes) are ignored, so that such a record is stored like any other.
package struct AttachmentTriggers {
  package let entities: Entities
  private let attachments: [AttachmentEntity]

  /// Returns `nil` if no entity has contents, or the table of contents does not exist yet.
  package init?(_ entities: Entities) {
    attachments = entities.attachments
    guard !attachments.isEmpty, entities.catalog.tables.contains(where: { $0.name == "AttachmentContent" }) else {
      return nil
    }
    self.entities = entities
  }

  package var statements: [String] {
    attachments.flatMap { [index(of: $0), insertion(of: $0), change(of: $0), replacement(of: $0), removal(of: $0)] }
      + arrivals
  }

  /// Inserts the contents of records that were written without the triggers, and queues missing uploads.
  package func addMissing(on connection: WriteConnection) throws {
    for attachment in attachments {
      let sql = addContent(
        of: attachment, row: "record",
        from: "FROM \(attachment.table) AS record WHERE record.contentUuid IS NOT NULL AND")
      try connection.execute(SQL(raw: sql + " GROUP BY record.contentUuid"))
    }
    if entities.catalog.tables.contains(where: { $0.name == "AttachmentTransfer" }) {
      try AttachmentContentRow.queueUploads(of: nil, in: connection)
    }
  }

  // MARK: Records

  private func index(of attachment: AttachmentEntity) -> String {
    """
    CREATE INDEX \(DerivedTriggers.name("content", of: attachment.entity))
    ON \(attachment.table) (contentUuid) WHERE contentUuid IS NOT NULL
    """
  }

  private func insertion(of attachment: AttachmentEntity) -> String {
    trigger(
      "content_insert", "INSERT ON \(attachment.table)", attachment, when: "NEW.contentUuid IS NOT NULL",
      [
        addContent(of: attachment, row: "NEW", from: "WHERE") + ";",
        updateDeviceColumns(attachment, content: "NEW.contentUuid", new: true),
      ])
  }

  private func change(of attachment: AttachmentEntity) -> String {
    let names =
      ["contentUuid", "contentKey", "contentDigest"] + (attachment.has(.thumbnailDigest) ? ["thumbnailDigest"] : [])
    // A newer schema may fill the columns one after the other.
    var completions = [completion(of: "digest", from: "contentDigest")]
    if attachment.has(.thumbnailDigest) {
      completions.append(completion(of: "thumbnailDigest", from: "thumbnailDigest"))
    }
    return trigger(
      "content_update", "UPDATE OF \(names.joined(separator: ", ")) ON \(attachment.table)", attachment,
      when: "NEW.contentUuid IS NOT NULL",
      [addContent(of: attachment, row: "NEW", from: "WHERE") + ";"] + completions
        + [updateDeviceColumns(attachment, content: "NEW.contentUuid", new: true)])
  }

  /// The last record of a content has another one now, so the key is removed.
  private func replacement(of attachment: AttachmentEntity) -> String {
    trigger(
      "content_replace", "UPDATE OF contentUuid ON \(attachment.table)", attachment,
      when: "OLD.contentUuid IS NOT NULL AND NEW.contentUuid IS NOT OLD.contentUuid", [shredding])
  }

  /// The row of the last record of a content is removed, so its key is removed, also from its conflicts.
  private func removal(of attachment: AttachmentEntity) -> String {
    trigger(
      "content_delete", "DELETE ON \(attachment.table)", attachment, when: "OLD.contentUuid IS NOT NULL",
      [
        shredding,
        """
          UPDATE OfflineConflictResolution SET base = json_remove(base, '$.contentKey'),
            localVersion = json_remove(localVersion, '$.contentKey'),
            remoteVersion = json_remove(remoteVersion, '$.contentKey')
            WHERE entityId = OLD.\(attachment.key) AND entityType = '\(attachment.entity.type.replacingQuotes)';
        """,
      ])
  }

  private var shredding: String {
    """
      DELETE FROM AttachmentContent
        WHERE contentUuid = OLD.contentUuid AND NOT \(entities.refer(to: "OLD.contentUuid"));
    """
  }

  private func addContent(of attachment: AttachmentEntity, row: String, from: String) -> String {
    func digest(_ column: String) -> String {
      "CASE WHEN \(Self.isDigest("\(row).\(column)")) THEN \(row).\(column) END"
    }
    let uuid = "\(row).contentUuid"
    let size =
      attachment.has(.fileSize)
      ? "CASE WHEN typeof(\(row).fileSize) = 'integer' AND \(row).fileSize >= 0 THEN \(row).fileSize END" : "NULL"
    return """
        INSERT INTO AttachmentContent (contentUuid, contentKey, digest, byteCount, thumbnailDigest)
          SELECT \(uuid), \(row).contentKey, \(digest("contentDigest")), \(size),
            \(attachment.has(.thumbnailDigest) ? digest("thumbnailDigest") : "NULL")
          \(from) \(uuid) GLOB '????????-????-????-????-????????????'
            AND length(unhex(\(uuid), '-')) IS 16 AND \(uuid) = lower(\(uuid))
            AND typeof(\(row).contentKey) = 'blob' AND length(\(row).contentKey) = 32
            AND NOT EXISTS (SELECT 1 FROM AttachmentContent WHERE contentUuid = \(uuid))
      """
  }

  private func completion(of column: String, from source: String) -> String {
    """
      UPDATE AttachmentContent SET \(column) = NEW.\(source)
        WHERE contentUuid = NEW.contentUuid AND \(column) IS NULL AND \(Self.isDigest("NEW.\(source)"));
    """
  }

  private static func isDigest(_ value: String) -> String {
    "typeof(\(value)) = 'text' AND length(\(value)) = 64 AND \(value) NOT GLOB '*[^0-9a-f]*'"
  }

  // MARK: State of files in records

  /// Contents that are added or removed, and uploads that make progress.
  private var arrivals: [String] {
    func body(_ row: String) -> [String] {
      attachments.map { updateDeviceColumns($0, content: "\(row).contentUuid", new: false) }
    }
    guard body("NEW").contains(where: { !$0.isEmpty }) else { return [] }
    let transfer = "AttachmentTransfer"
    func isUpload(_ row: String) -> String { "\(row).direction = 'upload'" }
    return [
      trigger(
        "content_state", "UPDATE OF full, serverHasFull ON AttachmentContent", on: "AttachmentContent",
        when: "NEW.full <> OLD.full OR NEW.serverHasFull <> OLD.serverHasFull", body("NEW")),
      trigger("upload_begins", "INSERT ON \(transfer)", on: transfer, when: isUpload("NEW"), body("NEW")),
      trigger(
        "upload_goes_on", "UPDATE OF status, address, bytesDone ON \(transfer)", on: transfer, when: isUpload("NEW"),
        body("NEW")),
      trigger("upload_ends", "DELETE ON \(transfer)", on: transfer, when: isUpload("OLD"), body("OLD")),
    ]
  }

  /// Updates the columns of records that describe this device: those of a new record, or of all records of a content.
  private func updateDeviceColumns(_ attachment: AttachmentEntity, content: String, new: Bool) -> String {
    var values: [(column: String, value: String)] = []
    if attachment.tellsUploadStatus { values.append(("uploadStatus", Self.uploadStatus(of: content))) }
    if attachment.hasLocal(.localPath) { values.append(("localPath", Self.localPath(of: content))) }
    if attachment.hasLocal(.tusUploadId) { values.append(("tusUploadId", Self.address(of: content))) }
    guard !values.isEmpty else { return "" }
    let list = values.map(\.column).joined(separator: ", ")
    let condition = new ? "\(attachment.key) = NEW.\(attachment.key)" : "contentUuid = \(content)"
    return """
        UPDATE \(attachment.table) SET (\(list)) = (SELECT \(values.map(\.value).joined(separator: ",\n      ")))
          WHERE \(condition);
      """
  }

  private static func uploadStatus(of content: String) -> String {
    """
    CASE WHEN EXISTS (SELECT 1 FROM AttachmentContent WHERE contentUuid = \(content) AND serverHasFull = 1) THEN 'completed'
        ELSE coalesce((SELECT CASE WHEN max(status = 'failed') THEN 'failed'
            WHEN max(status = 'running' OR bytesDone > 0) THEN 'uploading' END
          FROM AttachmentTransfer WHERE contentUuid = \(content) AND direction = 'upload'), 'pending') END
    """
  }

  private static func address(of content: String) -> String {
    "(SELECT address FROM AttachmentTransfer WHERE contentUuid = \(content) AND variant = 'full' AND direction = 'upload')"
  }

  private static func localPath(of content: String) -> String {
    """
    coalesce((SELECT 'attachments/' || substr(contentUuid, -2) || '/' || contentUuid FROM AttachmentContent
        WHERE contentUuid = \(content) AND full = 'here'), '')
    """
  }

  // MARK: Text

  private func trigger(
    _ name: String, _ event: String, _ attachment: AttachmentEntity, when condition: String, _ body: [String]
  ) -> String {
    trigger(name, event, on: attachment.entity.table.name, when: condition, body)
  }

  private func trigger(
    _ name: String, _ event: String, on table: String, when condition: String, _ body: [String]
  ) -> String {
    """
    CREATE TRIGGER \(SQL.quoted("\(DerivedTriggers.prefix)\(name)_\(table)")) AFTER \(event)
    WHEN \(condition)
    BEGIN
    \(body.filter { !$0.isEmpty }.joined(separator: "\n"))
    END
    """
  }
}
