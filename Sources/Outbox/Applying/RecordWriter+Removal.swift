import CipherSQL
import RecordStore
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension RecordWriter {
  /// Marks a record and its dependents as deleted.
  /// - Returns: the number of marked records.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` while a remaining record references one of them.
  @discardableResult
  public func delete(_ entity: Entity, _ uuid: UUID) throws -> Int {
    let key = try RecordReader(connection).requireLive(entity, uuid)
    let count = try Dependents(connection: connection, entities: entities).count(of: entity, key)
    try refusingConstraints {
      _ = try connection.execute(
        "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
    }
    return count
  }

  /// Restores a deleted record and the dependents that were deleted with it. Before the deletion was sent, both
  /// cancel out. Afterwards the record is sent as restored, and the server restores the dependents.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` for a record that is not deleted, whose parent is
  ///   deleted, or whose UNIQUE values another record has.
  @discardableResult
  public func undelete(_ entity: Entity, _ uuid: UUID) throws -> Restoration {
    try restore(entity, uuid, isDependent: false)
  }

  /// - Parameter isDependent: whether the record was deleted with another record, according to the server.
  package func restore(_ entity: Entity, _ uuid: UUID, isDependent: Bool) throws -> Restoration {
    let record = try RecordReader(connection).find(entity, uuid)
    guard record.isDeleted else { throw VaultError(.refused, "this \(entity.type) is not deleted") }
    if let parent = try parentInTheWay(of: entity, record.key, isDependent: isDependent) {
      throw VaultError(
        .refused, "the \(parent.type) that this \(entity.type) belongs to is deleted",
        remedy: .restoreParent(entity: parent.type, uuid: parent.uuid))
    }
    let dependents = try connection.fetchOne(
      """
      SELECT count(*) FROM SyncCascade WHERE rootId = \(record.key) AND rootType = \(entity.type) AND isAnswered = 0
      """, as: Int.self)
    let isAtServer = try serverHasDeletion(of: entity, record.key)
    do {
      try refusingConstraints {
        _ = try connection.execute(
          "UPDATE \(identifier: entity.table.name) SET isDeleted = 0 WHERE \(identifier: entity.key) = \(record.key)")
      }
    } catch let refusal as VaultError {
      throw try namingHolder(refusal, of: entity, uuid)
    }
    return Restoration(
      restored: 1 + (dependents ?? 0), dependentsFollow: isAtServer && !entities.dependents(of: entity).isEmpty)
  }

  /// Restores deleted records, each as ``undelete(_:_:)`` does.
  @discardableResult
  public func undelete(_ entity: Entity, _ uuids: [UUID]) throws -> Restoration {
    try uuids.reduce(into: Restoration()) { $0 += try undelete(entity, $1) }
  }

  /// Returns whether a FieldVault server has the deletion of a record, so that it restores the dependents.
  private func serverHasDeletion(of entity: Entity, _ key: Int64) throws -> Bool {
    guard entity.sync != nil, entity.hasCommonFields, try SyncSettings.value(.remoteRoutes, in: connection) == nil
    else {
      return false
    }
    let query: SQL = """
      SELECT isDirty = 0 AND syncVersion > 0 FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)
      """
    return try connection.fetchOne(query, as: Bool.self) ?? false
  }

  /// Names the record that has the UNIQUE values, if the record itself lacks them and not a dependent.
  private func namingHolder(_ refusal: VaultError, of entity: Entity, _ uuid: UUID) throws -> VaultError {
    guard let table = RecordTable(entity, in: entities), let record = try table.find(uuid.sqlText, in: connection)
    else {
      return refusal
    }
    return try table.refusal(of: record.state.fields, besides: record.uuid, in: connection) ?? refusal
  }

  /// Removes the row of a deleted record and of its dependents.
  /// - Returns: the number of removed records.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` for a record that is not deleted, whose deletion the
  ///   server has not acknowledged, or that another record references.
  @discardableResult
  public func purge(_ entity: Entity, _ uuid: UUID) throws -> Int {
    let record = try RecordReader(connection).find(entity, uuid)
    guard record.isDeleted else {
      throw VaultError(.refused, "this \(entity.type) is not deleted", hint: "only deleted records are purged")
    }
    let going = try Dependents(connection: connection, entities: entities).all(
      of: entity, [record.key], onlyLive: false)
    for (kind, keys) in going { try requirePurgeable(kind, keys, with: (entity, record.key)) }
    try refusingConstraints {
      _ = try WriteMode.purge(on: connection) {
        try connection.execute(
          "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(record.key)")
      }
    }
    for (kind, keys) in going {
      let list = Self.list(keys)
      for table in ["SyncBase", "SyncCascade", "SyncMoved"] {
        try connection.execute(
          """
          DELETE FROM \(identifier: table)
          WHERE entityType = \(kind.type) AND entityId IN (SELECT value FROM json_each(\(list)))
          """)
      }
    }
    return going.reduce(0) { $0 + $1.keys.count }
  }

  // MARK: Parts

  private func refusingConstraints(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as SQLError where error.code == .constraint {
      switch error.constraint {
      case .unique(let columns):
        throw VaultError(.refused, "another record now has the same \(columns.joined(separator: ", "))")
      case .foreignKey: throw VaultError(.refused, "another record refers to it")
      default: throw VaultError(.refused, error.message)
      }
    }
  }

  /// Returns the deleted parent without which this record cannot be restored.
  ///
  /// In a cycle of references a parent is a dependent as well: it was deleted with the record and is restored with
  /// it, unless the record was deleted with the parent.
  private func parentInTheWay(
    of entity: Entity, _ key: Int64, isDependent: Bool
  ) throws -> (type: String, uuid: String)? {
    var dependents: [(kind: Entity, keys: [Int64])]?
    for foreign in entity.table.foreignKeys where foreign.onDelete == .cascade {
      guard let parent = entities.entity(ofTable: foreign.table), parent.marksDeletion else { continue }
      let dependency = Dependency(child: entity, parent: parent, key: foreign)
      let deleted = try connection.fetchRows(
        """
        SELECT parent.\(identifier: parent.key), parent.uuid
        FROM \(identifier: entity.table.name) AS child CROSS JOIN \(identifier: parent.table.name) AS parent
          ON \(raw: dependency.isReferring(child: "child", parent: "parent"))
        WHERE child.\(identifier: entity.key) = \(key) AND parent.isDeleted = 1
        """, as: Int64.self, String.self
      ).first
      guard let (parentKey, uuid) = deleted else { continue }
      let isTaken =
        try isDependent
        || connection.fetchOne(
          "SELECT 1 FROM SyncCascade WHERE entityId = \(key) AND entityType = \(entity.type) AND isAnswered = 0",
          as: Int.self) != nil
      if isTaken { return (parent.type, uuid) }
      let found =
        try dependents
        ?? Dependents(connection: connection, entities: entities).all(of: entity, [key], onlyLive: false).map {
          (kind: $0, keys: $1)
        }
      dependents = found
      if !found.contains(where: { $0.kind.type == parent.type && $0.keys.contains(parentKey) }) {
        return (parent.type, uuid)
      }
    }
    return nil
  }

  private func requirePurgeable(
    _ kind: Entity, _ keys: [Int64], with root: (entity: Entity, key: Int64)
  ) throws {
    let list = Self.list(keys)
    func has(_ condition: SQL) throws -> Bool {
      try connection.fetchOne(
        """
        SELECT 1 FROM \(identifier: kind.table.name) AS record
        WHERE \(identifier: kind.key) IN (SELECT value FROM json_each(\(list))) AND \(condition) LIMIT 1
        """, as: Int.self) != nil
    }
    if try has("isDeleted = 0") {
      throw VaultError(.refused, "the record has a \(kind.type) that is not deleted")
    }
    guard kind.sync != nil, kind.hasCommonFields else { return }
    let isOfAnother: SQL = """
      EXISTS (SELECT 1 FROM SyncCascade WHERE entityId = record.\(identifier: kind.key) AND entityType = \(kind.type)
        AND isAnswered = 0 AND NOT (rootId = \(root.key) AND rootType = \(root.entity.type)))
      """
    if try has("isDirty = 1") || has(isOfAnother) {
      throw VaultError(
        .refused, "the server has not acknowledged the deletion of this \(kind.type) yet", hint: "sync first")
    }
  }

  private static func list(_ keys: [Int64]) -> String { "[" + keys.map(String.init).joined(separator: ",") + "]" }
}
