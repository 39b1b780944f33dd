import CipherSQL
import SyncModel

/// An entity whose records reference a content: a file encrypted under its own key, which is in the record.
///
/// It is recognised by its columns, like the common fields: a synced entity with `contentUuid TEXT`, `contentKey BLOB`
/// and `contentDigest TEXT`. Other columns of ``Column`` are filled if the table has them.
package struct AttachmentEntity: Sendable, Hashable {
  /// The entity that has the columns.
  package let entity: Entity

  /// A column whose meaning FieldVault knows.
  package enum Column: String, CaseIterable, Sendable {
    case contentUuid, contentKey, contentDigest
    /// Optional columns that are synced.
    case thumbnailDigest, fileName, fileSize, mimeType, width, height, capturedAt
    /// Optional device-only columns: the state of the upload, the path of the file and the address of the upload.
    case uploadStatus, localPath, tusUploadId
  }

  /// Returns `nil` for an entity whose records have no content.
  package init?(_ entity: Entity) {
    guard entity.sync != nil, entity.hasCommonFields else { return nil }
    for column in [Column.contentUuid, .contentKey, .contentDigest] {
      guard entity.table.column(column.rawValue) != nil else { return nil }
    }
    self.entity = entity
  }

  /// Returns whether the table has a column.
  package func has(_ column: Column) -> Bool { entity.table.column(column.rawValue) != nil }

  /// Returns whether the table has the column as a device-only column. Only such a column may contain the state of this
  /// device.
  package func hasLocal(_ column: Column) -> Bool { has(column) && entity.localColumns.contains(column.rawValue) }

  /// Whether `uploadStatus` is a device-only column that accepts the four states of an upload.
  package var tellsUploadStatus: Bool {
    guard hasLocal(.uploadStatus), let column = entity.table.column(Column.uploadStatus.rawValue) else { return false }
    switch column.type {
    case .enumeration(let words): return Set(words).isSuperset(of: ["pending", "uploading", "completed", "failed"])
    case .text: return true
    default: return false
    }
  }

  /// The table's name, quoted.
  package var table: String { SQL.quoted(entity.table.name) }
  /// The column name of the local id, quoted.
  package var key: String { SQL.quoted(entity.key) }
}

extension Entity {
  /// The columns that are shown and exported, in table order. The key of the file is excluded; only an SQL query and an
  /// export of the whole vault, which has the decrypted file too, return it.
  package var shownColumns: [Catalog.Column] {
    guard AttachmentEntity(self) != nil else { return table.columns }
    return table.columns.filter { $0.name != AttachmentEntity.Column.contentKey.rawValue }
  }
}

extension Entity {
  /// Returns a JSON object of fields without the key of the record's file.
  /// - Parameter members: the members of the object that are themselves objects of fields.
  package func shown(_ json: String, members: [String] = []) throws(SyncModelError) -> String {
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

  /// Returns an SQL condition: a record, deleted or not, references a content.
  /// - Parameters:
  ///   - content: an SQL expression for the UUID of the content.
  ///   - condition: a further condition over the alias `record`.
  package func refer(to content: String, where condition: String = "1") -> String {
    let parts = attachments.map {
      "EXISTS (SELECT 1 FROM \($0.table) AS record WHERE record.contentUuid = \(content) AND \(condition))"
    }
    return parts.isEmpty ? "0" : "(" + parts.joined(separator: " OR ") + ")"
  }
}
