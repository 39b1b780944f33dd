import CipherSQL
import SyncModel

/// A kind of record that has a content: an encrypted file under a key of its own, which stands in the record.
///
/// It is told by its columns, as the common fields are: a synced entity with `contentUuid TEXT`, `contentKey BLOB` and
/// `contentDigest TEXT`. Others of ``Column`` are filled where the table has them.
package struct AttachmentEntity: Sendable, Hashable {
  /// The entity itself.
  package let entity: Entity

  /// A column that FieldVault knows the meaning of.
  package enum Column: String, CaseIterable, Sendable {
    case contentUuid, contentKey, contentDigest
    /// Shared with others, where the table has them.
    case thumbnailDigest, fileName, fileSize, mimeType, width, height, capturedAt
    /// Kept on this device, where the table has them: how far the upload is, where the file stands, and the address of its
    /// upload.
    case uploadStatus, localPath, tusUploadId
  }

  /// Nil for an entity whose records have no content.
  package init?(_ entity: Entity) {
    guard entity.sync != nil, entity.hasCommonFields else { return nil }
    for column in [Column.contentUuid, .contentKey, .contentDigest] {
      guard entity.table.column(column.rawValue) != nil else { return nil }
    }
    self.entity = entity
  }

  /// Whether the table has a column.
  package func has(_ column: Column) -> Bool { entity.table.column(column.rawValue) != nil }

  /// Whether the table has a column that stays on this device: only such a one may say what is true of this device alone.
  func hasLocal(_ column: Column) -> Bool { has(column) && entity.localColumns.contains(column.rawValue) }

  /// Whether `uploadStatus` takes the words for how far an upload is.
  var tellsUploadStatus: Bool {
    guard hasLocal(.uploadStatus), let column = entity.table.column(Column.uploadStatus.rawValue) else { return false }
    switch column.type {
    case .enumeration(let words): return Set(words).isSuperset(of: ["pending", "uploading", "completed", "failed"])
    case .text: return true
    default: return false
    }
  }

  /// The table's name, quoted.
  var table: String { SQL.quoted(entity.table.name) }
  /// The name of the local id, quoted.
  var key: String { SQL.quoted(entity.key) }
}

extension Entity {
  /// The columns of a record that is shown or exported, in the order of the table: all but the key of its file, which only
  /// SQL asks for.
  package var shownColumns: [Catalog.Column] {
    guard AttachmentEntity(self) != nil else { return table.columns }
    return table.columns.filter { $0.name != AttachmentEntity.Column.contentKey.rawValue }
  }
}

extension Entity {
  /// A JSON object of fields as it is shown: without the key of the record's file.
  /// - Parameter members: those that are objects of fields themselves.
  func shown(_ json: String, members: [String] = []) throws(SyncModelError) -> String {
    guard AttachmentEntity(self) != nil else { return json }
    let key = AttachmentEntity.Column.contentKey.rawValue
    var object = try SyncObject(parsing: json)
    object[key] = nil
    for member in members {
      guard case .object(var fields)? = object[member] else { continue }
      fields[key] = nil
      object[member] = .object(fields)
    }
    return SyncValue.object(object).json
  }
}

extension Entities {
  /// The entities whose records have a content.
  package var attachments: [AttachmentEntity] { all.compactMap(AttachmentEntity.init) }

  /// SQL that is true when a record refers to a content, also one that is marked as deleted.
  /// - Parameters:
  ///   - content: an expression for its uuid.
  ///   - condition: what must be true of the record as well.
  func refer(to content: String, where condition: String = "1") -> String {
    let parts = attachments.map {
      "EXISTS (SELECT 1 FROM \($0.table) AS record WHERE record.contentUuid = \(content) AND \(condition))"
    }
    return parts.isEmpty ? "0" : "(" + parts.joined(separator: " OR ") + ")"
  }
}
