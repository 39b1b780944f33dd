import CipherSQL
import SyncModel

/// Reads the records of an entity as JSON objects that are valid in another vault: references are UUIDs, and the local id and
/// the state of sync are left out.
struct TransferTable {
  let entity: Entity
  /// The columns of an object, in its order.
  let columns: [SharedColumn]
  private let places: [String: Int]
  private let selection: String

  /// - Throws: ``VaultError`` with `refused` for an entity whose records have no UUID.
  init(_ entity: Entity, in entities: Entities) throws(VaultError) {
    guard entity.table.column("uuid") != nil else {
      throw VaultError(.refused, "\(entity.type) has no column uuid, so its records cannot be moved to another vault")
    }
    self.entity = entity
    columns = entity.table.columns.filter { Self.isMoved($0, of: entity) }
      .map { SharedColumn(column: $0, isStrict: entity.table.isStrict, reference: entities.target(of: $0, entity)) }
      .sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
    places = Dictionary(uniqueKeysWithValues: columns.enumerated().map { ($1.name, $0) })
    let isDeleted = entity.marksDeletion ? "record.isDeleted" : "0"
    let isSeed = entity.isSynced ? "record.isDirty = 0 AND record.syncVersion = 0" : "0"
    let names = ["record.uuid", isDeleted, isSeed] + columns.map { $0.selection("record") }
    selection = "SELECT \(names.joined(separator: ", ")) FROM \(SQL.quoted(entity.table.name)) AS record"
  }

  /// Whether the values of a column are valid in another vault.
  private static func isMoved(_ column: Catalog.Column, of entity: Entity) -> Bool {
    if column.isRowID || column.isGenerated || column.name == "uuid" { return false }
    if ["createdAt", "updatedAt"].contains(column.name) { return true }
    if Entity.keptColumns.contains(column.name) { return false }
    guard let attachment = AttachmentEntity(entity) else { return true }
    let ofDevice = [AttachmentEntity.Column.uploadStatus, .localPath, .tusUploadId].contains { part in
      part.rawValue == column.name && attachment.hasLocal(part)
    }
    return !ofDevice
  }

  /// Returns the column of a member; `nil` for a member that an import ignores.
  /// - Throws: ``VaultError`` with `noSuchField`.
  func column(_ name: String) throws(VaultError) -> SharedColumn? {
    if let place = places[name] { return columns[place] }
    guard entity.table.column(name) == nil, !Entity.keptColumns.contains(name) else { return nil }
    throw entity.unknownField(name)
  }

  /// Calls a closure with each record that is not deleted, in the order of the UUIDs.
  /// - Throws: ``VaultError`` with `refused` for a value that JSON cannot represent.
  func forEach(in connection: Connection, _ body: (SyncObject) throws -> Void) throws {
    let live = entity.marksDeletion ? " WHERE record.isDeleted = 0" : ""
    try connection.forEach(SQL(raw: selection + live + " ORDER BY record.uuid")) { row in try body(try object(row)) }
  }

  /// A record of the vault.
  struct Found {
    let object: SyncObject
    let isDeleted: Bool
    /// Whether the record is a row of the schema that no user and no server has changed.
    let isSeed: Bool
  }

  /// Returns the record with a UUID, deleted or not.
  func find(_ uuid: String, in connection: Connection) throws -> Found? {
    try connection.withStatement(selection + " WHERE record.uuid = ?") { statement in
      try statement.bind(uuid, at: 1)
      guard try statement.step() else { return nil }
      let row = statement.row
      return Found(object: try object(row), isDeleted: try row.decode(at: 1), isSeed: try row.decode(at: 2))
    }
  }

  private func object(_ row: borrowing Row) throws -> SyncObject {
    guard let uuid: String = try row.decode(at: 0) else {
      throw VaultError(.refused, "a record of \(entity.type) has no uuid", hint: "give it one, or remove it")
    }
    var members: [SyncObject.Member] = []
    members.reserveCapacity(columns.count)
    for (index, column) in columns.enumerated() {
      do throws(FieldProblem) {
        members.append(SyncObject.Member(name: column.name, value: try column.value(in: row, at: Int32(index + 3))))
      } catch {
        throw VaultError(
          .refused, "\(entity.type) \(uuid): \(column.name) \(error.message)", hint: "change the value, then try again",
          name: column.name)
      }
    }
    var object = SyncObject(ordered: members)
    object["uuid"] = .text(uuid)
    return object
  }
}

extension Entities {
  /// Returns the reference that a column is by itself, if the referenced records have a UUID.
  fileprivate func target(of column: Catalog.Column, _ entity: Entity) -> SharedColumn.Reference? {
    guard let key = entity.reference(of: column.name), let pair = key.columns.first,
      let target = self.entity(ofTable: key.table), target.table.column("uuid") != nil
    else { return nil }
    return SharedColumn.Reference(
      entityType: target.type, table: key.table, key: pair.to, cascades: key.onDelete == .cascade)
  }

  /// Orders entities so that referenced ones come first. A reference that accepts NULL may precede its record in a cycle.
  func referencedFirst(_ chosen: [Entity]) -> [Entity] {
    func ordered(_ roots: [Entity], along isFollowed: (Entity, Catalog.ForeignKey) -> Bool) -> [Entity] {
      var seen: Set<String> = []
      var result: [Entity] = []
      func visit(_ entity: Entity) {
        guard seen.insert(entity.type).inserted else { return }
        for key in entity.table.foreignKeys where isFollowed(entity, key) {
          if let parent = self.entity(ofTable: key.table) { visit(parent) }
        }
        result.append(entity)
      }
      roots.forEach(visit)
      return result
    }
    let usual = ordered(chosen) { _, _ in true }
    let strict = ordered(usual) { entity, key in
      key.columns.allSatisfy { entity.table.column($0.from)?.isNotNull == true }
    }
    let types = Set(chosen.map(\.type))
    return strict.filter { types.contains($0.type) }
  }
}
