import CipherSQL
import RecordStore
import SchemaModel

/// The attachment entity for the records of an owner entity, and the columns that reference the owner.
package struct AttachmentPlace {
  package let attachment: AttachmentEntity
  /// The column of the attachment that references the owner.
  package let column: String
  /// The column of the owner that ``column`` references.
  let ownersKey: String
  /// The reference columns that owner and attachment share, such as the project of a log and of its photo.
  package let shared: [String]

  /// Returns the first attachment entity whose records are deleted with an owner record (`ON DELETE CASCADE`).
  /// Without a cascading reference, returns the first entity that references the owner.
  /// - Throws: ``VaultError`` with `refused` when no attachment entity references the owner.
  package static func find(for owner: Entity, in entities: Entities) throws(VaultError) -> AttachmentPlace {
    var loose: AttachmentPlace?
    for attachment in entities.attachments {
      for key in attachment.entity.table.foreignKeys where key.table == owner.table.name && key.columns.count == 1 {
        let place = AttachmentPlace(attachment, key.columns[0], owner)
        if key.onDelete == .cascade { return place }
        loose = loose ?? place
      }
    }
    if let loose { return loose }
    let owners = Set(entities.attachments.flatMap { $0.entity.table.foreignKeys.map(\.table) })
    let names = entities.all.filter { owners.contains($0.table.name) }.map(\.type)
    throw VaultError(
      .refused, "\(owner.type) records cannot have attachments",
      hint: names.isEmpty
        ? "no table of this vault has contentUuid, contentKey and contentDigest"
        : "entities with attachments: \(names.joined(separator: ", "))")
  }

  private init(_ attachment: AttachmentEntity, _ reference: Catalog.ForeignKey.Pair, _ owner: Entity) {
    (self.attachment, column, ownersKey) = (attachment, reference.from, reference.to)
    shared = attachment.entity.table.foreignKeys.compactMap { key in
      guard key.columns.count == 1, key.columns[0].from != reference.from,
        let own = owner.reference(of: key.columns[0].from), own.table == key.table
      else { return nil }
      return key.columns[0].from
    }
  }

  /// Returns the reference columns of a new attachment record with their values: the reference to the owner and the
  /// shared references.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package func references(
    to owner: Entity, _ uuid: String, in connection: Connection
  ) throws -> [(column: String, value: SQLArgument)] {
    let names = [ownersKey] + shared
    let list = SQL.joined(names.map { name -> SQL in "\(identifier: name)" })
    var found: [SQLArgument]?
    try connection.forEach(
      "SELECT \(list) FROM \(identifier: owner.table.name) WHERE uuid = \(uuid)\(raw: owner.marksDeletion ? " AND isDeleted = 0" : "")"
    ) { row in found = try names.indices.map { try row.decode(at: Int32($0)) } }
    guard let found else { throw RecordReader.missing(owner) }
    return Array(zip([column] + shared, found).map { (column: $0, value: $1) })
  }
}
