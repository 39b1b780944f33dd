import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension RecordWriter {
  /// Marks a record as deleted, with its dependents.
  /// - Returns: how many records were marked, dependents included.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` while a record refers to one of them that does not go with it.
  @discardableResult
  public func delete(_ entity: Entity, _ uuid: UUID) throws -> Int {
    let record = try find(entity, uuid)
    if record.isDeleted { throw RecordReader.missing(entity) }
    let count = try Dependents(connection: connection, entities: entities).count(of: entity, record.key)
    try refusingConstraints {
      _ = try connection.execute(
        "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(record.key)")
    }
    return count
  }

  /// Restores a deleted record and the dependents that were deleted with it. Before the deletion was sent both cancel out;
  /// afterwards the record is sent as restored, and the server restores the dependents.
  /// - Returns: how many records were restored on this device.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` for a record that is not deleted, whose parent is deleted, or whose
  ///   unique values another record has by now.
  @discardableResult
  public func undelete(_ entity: Entity, _ uuid: UUID) throws -> Int {
    let record = try find(entity, uuid)
    guard record.isDeleted else { throw VaultError(.refused, "this \(entity.type) is not deleted") }
    if let parent = try parentInTheWay(of: entity, record.key) {
      throw VaultError(
        .refused, "the \(parent.type) that this \(entity.type) belongs to is deleted",
        hint: "undelete \(parent.type) \(parent.uuid)")
    }
    let dependents = try connection.fetchOne(
      """
      SELECT count(*) FROM SyncCascade WHERE rootId = \(record.key) AND rootType = \(entity.type) AND isAnswered = 0
      """, as: Int.self)
    try refusingConstraints {
      _ = try connection.execute(
        "UPDATE \(identifier: entity.table.name) SET isDeleted = 0 WHERE \(identifier: entity.key) = \(record.key)")
    }
    return 1 + (dependents ?? 0)
  }

  /// Removes the row of a deleted record for good, with those of its dependents.
  /// - Returns: how many records were removed.
  /// - Throws: ``VaultError`` with `noSuchRecord`; `refused` for a record that is not deleted, whose deletion the server has not
  ///   acknowledged, or that another record still refers to.
  @discardableResult
  public func purge(_ entity: Entity, _ uuid: UUID) throws -> Int {
    let record = try find(entity, uuid)
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

  private func find(_ entity: Entity, _ uuid: UUID) throws -> (key: Int64, isDeleted: Bool) {
    let deleted: SQL = entity.marksDeletion ? "isDeleted" : "0"
    let query: SQL = """
      SELECT \(identifier: entity.key), \(deleted) FROM \(identifier: entity.table.name) WHERE uuid = \(uuid)
      """
    guard let (key, isDeleted) = try connection.fetchRows(query, as: Int64.self, Bool.self).first else {
      throw RecordReader.missing(entity)
    }
    return (key, isDeleted)
  }

  private func refusingConstraints(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as SQLError where error.code == .constraint {
      switch error.constraint {
      case .unique(let columns):
        throw VaultError(.refused, "another record has the same \(columns.joined(separator: ", ")) by now")
      case .foreignKey: throw VaultError(.refused, "another record refers to it")
      default: throw VaultError(.refused, error.message)
      }
    }
  }

  /// The deleted record without which this one cannot come back.
  ///
  /// In a cycle of references a parent is a dependent as well: it was deleted with the record, and comes back with it, unless
  /// the record was the one that was deleted with the other.
  private func parentInTheWay(of entity: Entity, _ key: Int64) throws -> (type: String, uuid: String)? {
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
        try connection.fetchOne(
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
      throw VaultError(.refused, "a \(kind.type) that is not deleted belongs to it")
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
