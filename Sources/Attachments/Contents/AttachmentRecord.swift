import CipherSQL
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The description of an attachment, read from its record and its content.
public struct AttachmentRecord: Sendable, Hashable {
  /// The entity of the record, such as `Photo`.
  public let entityType: String
  /// The uuid of the record.
  public let uuid: String
  /// The reference columns of the record, with the uuids of the records that they reference.
  public let references: [String: String]
  /// The display name. It need not be a valid file name.
  public let fileName: String?
  /// The size of the content in bytes.
  public let byteCount: Int64?
  /// The MIME type of the content.
  public let mimeType: String?
  /// The size in pixels after the orientation is applied.
  public let width: Int?, height: Int?
  /// The capture time as text.
  public let capturedAt: String?
  /// The uuid of the content; `nil` for a record without a content.
  public let contentUuid: String?
  /// SHA-256 of the content, in hexadecimal digits.
  public let digest: String?
  /// The local state of the full file: `absent`, `here` or `evicted`; `nil` for a record without a content.
  public let full: String?
  /// The local state of the thumbnail: `absent`, `here` or `evicted`, or `none` if the content has no thumbnail;
  /// `nil` for a record without a content.
  public let thumbnail: String?
  /// The state of the upload: `pending`, `uploading`, `completed` or `failed`.
  public let uploadStatus: String?
  /// Whether the server lacked a file of the content at the last request. The device that added the file has not
  /// sent it yet.
  public let waitsForUpload: Bool
  /// The reason why the picture could not be inspected or its location could not be removed; `nil` without a
  /// problem.
  public let note: String?

  /// Calls `body` with each attachment that is not deleted.
  /// - Parameter condition: an SQL condition over the alias `record`.
  package static func forEach(
    of attachment: AttachmentEntity, in entities: Entities, where condition: SQL, _ connection: Connection,
    _ body: (AttachmentRecord) throws -> Void
  ) throws {
    let references = attachment.entity.sharedColumns(in: entities).filter { $0.reference != nil }
    func column(_ column: AttachmentEntity.Column) -> String {
      attachment.has(column) ? "record.\(SQL.quoted(column.rawValue))" : "NULL"
    }
    let facts: [AttachmentEntity.Column] = [
      .fileName, .fileSize, .mimeType, .width, .height, .capturedAt, .uploadStatus,
    ]
    let names = facts.map(column) + references.map { $0.selection("record") }
    let deleted: SQL = attachment.entity.marksDeletion ? "record.isDeleted = 0" : "1"
    try connection.forEach(
      """
      SELECT record.uuid, record.contentUuid, record.contentDigest, content.full,
        CASE WHEN content.thumbnailDigest IS NULL AND content.contentUuid IS NOT NULL THEN 'none' ELSE content.thumbnail END,
        content.note, EXISTS (SELECT 1 FROM AttachmentTransfer AS download
          WHERE download.contentUuid = record.contentUuid AND download.direction = 'download' AND download.absences > 0),
        \(raw: names.joined(separator: ", "))
      FROM \(raw: attachment.table) AS record LEFT JOIN AttachmentContent AS content USING (contentUuid)
      WHERE \(deleted) AND \(condition) ORDER BY record.\(raw: attachment.key)
      """
    ) { row in try body(try AttachmentRecord(row, attachment, references)) }
  }

  private init(_ row: borrowing Row, _ attachment: AttachmentEntity, _ references: [SharedColumn]) throws {
    entityType = attachment.entity.type
    uuid = try row.decode(at: 0)
    contentUuid = try row.decode(at: 1)
    digest = try row.decode(at: 2)
    full = try row.decode(at: 3)
    thumbnail = try row.decode(at: 4)
    note = try row.decode(at: 5)
    waitsForUpload = try row.decode(at: 6)
    fileName = try row.decode(at: 7)
    byteCount = try row.decode(at: 8)
    mimeType = try row.decode(at: 9)
    width = try row.decode(at: 10)
    height = try row.decode(at: 11)
    capturedAt = try row.decode(at: 12)
    uploadStatus = try row.decode(at: 13)
    var owners: [String: String] = [:]
    for (index, column) in references.enumerated() {
      owners[column.name] = try row.decode(Optional<String>.self, at: Int32(14 + index))
    }
    self.references = owners
  }

  /// Returns the attachment with a uuid, and its entity.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package static func find(
    _ uuid: String, _ entities: Entities, in connection: Connection
  ) throws -> (attachment: AttachmentEntity, record: AttachmentRecord) {
    for attachment in entities.attachments {
      var found: AttachmentRecord?
      try forEach(of: attachment, in: entities, where: "record.uuid = \(uuid)", connection) { found = $0 }
      if let found { return (attachment, found) }
    }
    throw VaultError(
      .noSuchRecord, "no attachment with this uuid", remedy: .showAttachments)
  }
}
