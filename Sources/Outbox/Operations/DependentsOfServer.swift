import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// A live record of the server that references a record, which the server may not have.
struct DependentOfServer {
  let dependency: Dependency
  let table: RecordTable
  let record: StoredRecord
  let atServer: RecordState

  /// Whether only an edit that was not sent references the record.
  var isUnsent: Bool { dependency.columns.contains { record.state.fields[$0] != atServer.fields[$0] } }
}

/// Records of the server that reference a record which the server never had. They do so by edits that were not sent, or by
/// UNIQUE values that another record has at the server.
extension RemoteChanges {
  /// - Parameter hasArrived: whether the inbox has the version of the record that has the values at the server.
  /// - Throws: ``VaultError`` with `refused` if a record references the UNIQUE values of a record at the server as well.
  func refuseWithDependentsOfServer(_ record: StoredRecord, _ table: RecordTable, hasArrived: Bool) throws {
    let entity = table.entity
    let byValues = catalog.entities.dependencies(on: entity).filter { dependency in
      dependency.key.columns.contains { $0.to != entity.key }
    }
    let referring = try dependentsOfServer(on: record, byValues).first { !$0.isUnsent }
    if let referring { throw refusal(because: referring, entity, hasArrived: hasArrived) }
  }

  private func refusal(because referring: DependentOfServer, _ entity: Entity, hasArrived: Bool) -> VaultError {
    let message = "\(referring.table.entity.type) \(referring.record.uuid) of the server refers to the same values"
    if hasArrived {
      return VaultError(
        .refused, "\(message), and the server's \(entity.type) cannot be stored yet",
        hint: "change or delete the records that refer to this \(entity.type) first")
    }
    return VaultError(
      .refused, "\(message), and the server's \(entity.type) has not arrived", remedy: .syncFirst)
  }

  /// Performs a change of a record that may give up UNIQUE values of several columns, and stores the version from the inbox
  /// that has these values at the server. Records of the server may reference the values. They reference whichever record
  /// has the values, so they do not follow the changed one. The change may also take values, as
  /// ``exchangingValues(of:_:_:)`` describes.
  /// - Throws: ``VaultError`` with `refused` if a record references the values and no version has them.
  func returningValues(of record: StoredRecord, _ table: RecordTable, _ change: () throws -> Void) throws {
    let byValues = try dependenciesByForeignValues(of: record, table)
    let claims = byValues.isEmpty ? [] : try versionsClaimingValues(of: record, table)
    let dependents = try dependentsOfServer(on: record, byValues).filter { !$0.isUnsent }
    if claims.isEmpty, dependents.isEmpty { return try exchangingValues(of: record, table, change) }
    try connection.deferringForeignKeys {
      try exchangingValues(of: record, table, change)
      for dependent in dependents {
        // ON UPDATE may have changed the reference.
        guard let child = try dependent.table.find(key: dependent.record.key, in: connection) else { continue }
        var state = child.state
        for column in dependent.dependency.columns { state.fields[column] = dependent.record.state.fields[column] }
        guard state != child.state else { continue }
        try dependent.table.update(
          child.key, from: child.state, to: state,
          .init(serverId: child.serverId, isDirty: child.isDirty, syncStatus: child.syncStatus), in: connection)
      }
      inbox.facts.clashes = claims.map { RecordIdentity(entityType: $0.entityType, entityUuid: $0.entityUuid) }
      var counts = ApplyCounts()
      try resolveClashes(counts: &counts)
      for dependent in dependents {
        if try dependent.table.lacksParent(by: dependent.dependency, in: dependent.record.state.fields, connection) {
          throw refusal(because: dependent, table.entity, hasArrived: !claims.isEmpty)
        }
      }
    }
  }

  /// Undoes the unsent references to a record that is removed. The foreign key would delete a record of the server with it,
  /// or refuse the removal. A reference stays if this device lacks the former parent or has deleted it.
  func undoUnsentReferences(to record: StoredRecord, _ entity: Entity) throws {
    let dependencies = catalog.entities.dependencies(on: entity)
    for dependent in try dependentsOfServer(on: record, dependencies) where dependent.isUnsent {
      let (dependency, children, child) = (dependent.dependency, dependent.table, dependent.record)
      let former = dependent.atServer.fields
      if try children.lacksParent(by: dependency, in: former, connection) { continue }
      if let parent = try children.parent(by: dependency, in: former, connection),
        try catalog.isDeleted(parent, of: dependency.parent, in: connection)
      {
        continue
      }
      var state = child.state
      for column in dependency.columns { state.fields[column] = former[column] }
      try sync.asUser {
        try children.update(
          child.key, from: child.state, to: state,
          .init(serverId: child.serverId, isDirty: true, syncStatus: child.syncStatus), in: connection)
      }
    }
  }

  /// Returns the foreign keys by several values that the record does not have at the server. If the server has such a
  /// reference, it leads to another record.
  private func dependenciesByForeignValues(of record: StoredRecord, _ table: RecordTable) throws -> [Dependency] {
    let keys = catalog.entities.dependencies(on: table.entity).filter { $0.key.columns.count > 1 }
    if keys.isEmpty { return [] }
    let atServer = try stateAtServer(of: record, table)?.fields
    return keys.filter { key in
      key.key.columns.contains { $0.to != table.entity.key && atServer?[$0.to] != record.state.fields[$0.to] }
    }
  }

  private func dependentsOfServer(
    on record: StoredRecord, _ dependencies: [Dependency]
  ) throws -> [DependentOfServer] {
    var found: [DependentOfServer] = []
    for dependency in dependencies {
      // A device-only column references nothing at the server.
      guard let children = catalog.tables[dependency.child.type],
        dependency.columns.allSatisfy({ children.places[$0] != nil })
      else { continue }
      var referring: [StoredRecord] = []
      try children.forEach(
        where: "\(dependency.refers("record", to: record.key)) AND record.syncVersion > 0 AND record.isDeleted = 0",
        in: connection
      ) { referring.append($0) }
      for child in referring {
        guard let state = try stateAtServer(of: child, children), !state.isDeleted else { continue }
        found.append(DependentOfServer(dependency: dependency, table: children, record: child, atServer: state))
      }
    }
    return found
  }

  /// Returns the newest known version of the server; `nil` if the server is not known to have the record.
  private func stateAtServer(of record: StoredRecord, _ table: RecordTable) throws -> RecordState? {
    guard record.isDirty else { return record.state }
    let type = table.entity.type
    let conflict = try OpenConflict.find(of: record, type, in: connection)
    return try conflict?.remote ?? BaseTable.find(type, record.key, in: connection)
  }
}
