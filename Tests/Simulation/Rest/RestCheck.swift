import CipherSQL
import SyncModel
import VaultStore

/// The checks of all devices and their API when faults have stopped and nothing is left to sync.
struct RestCheck {
  let devices: [SimulatedDevice]
  let api: SimulatedAPI

  /// - Throws: ``Violation``
  func check() throws {
    for device in devices {
      try device.read { connection in
        let check = StoreCheck(device: device, connection: connection)
        try check.check(isQuiet: true)
        try check.checkEnd()
        try checkJournal(of: device, connection)
        for entity in api.style.entities { try compare(device, entity, connection) }
      }
    }
  }

  /// Statement 1. The API counts as the server, although each device has its own UUID for a record of another device.
  private func checkJournal(of device: SimulatedDevice, _ connection: Connection) throws {
    let (entries, _) = try device.entries()
    var markers: [String: Set<String>] = [:]
    var ids = api.identities[device.name] ?? [:]
    for entry in entries {
      guard let found = api.store.titles[entry.marker] else { continue }
      markers[entry.uuid, default: []].insert(entry.marker)
      ids[entry.uuid, default: []].formUnion(found)
    }
    let moved = entries.filter { entry in (ids[entry.uuid] ?? []).contains { api.store.hasMoved(entry.entity, $0) } }
    var deleted: Set<String> = []
    for entry in entries where entry.kind == .delete {
      // If the response to a create is lost and the repetition is refused, no device knows the id, and the rule has no look-up.
      if api.style.entity(entry.entity)?.repeats == .mayDuplicate, api.identities[device.name]?[entry.uuid] == nil {
        deleted.insert(entry.uuid)
      }
      guard let known = ids[entry.uuid], let all = api.store.deleted[entry.entity] else { continue }
      // A request that arrived late may have created the record again.
      if !known.isDisjoint(with: all) { deleted.insert(entry.uuid) }
    }
    do {
      try JournalCheck(
        device: device, connection: connection, markers: markers, deletedAtServer: deleted, resent: [],
        restoredElsewhere: [], moved: Set(moved.map(\.uuid))
      ).check()
    } catch let violation as Violation {
      throw Violation(violation.statement, violation.details + (try states(named: violation, connection)))
    }
  }

  private func states(named violation: Violation, _ connection: Connection) throws -> [String] {
    guard let words = violation.details.last?.split(separator: " "), let uuid = words.last.map(String.init) else {
      return []
    }
    return try api.style.entities.flatMap { entity in
      try connection.fetch(
        """
        SELECT \(entity.kind.entity) || ' ' || coalesce(serverId, 'without id') || ' ' || syncStatus || ' dirty ' || isDirty
          || ' deleted ' || isDeleted || ' ' || coalesce(title, '')
        FROM \(identifier: entity.kind.table) WHERE uuid = \(uuid)
        """, as: String.self)
    } + waiting(connection).filter { $0.contains(uuid) }
  }

  // MARK: Agreement

  /// A record of a device.
  private struct Row {
    let uuid: String
    let id: Int64?
    let isOpen: Bool
    let isDeleted: Bool
    let fields: [String: SQLArgument]
  }

  /// Statement 6: a device has each record of the API with its values, and no other clean record.
  private func compare(_ device: SimulatedDevice, _ entity: APIStyle.EntityStyle, _ connection: Connection) throws {
    let type = entity.kind.entity
    let rows = try rows(entity, connection)
    var live: [Int64: Row] = [:]
    for row in rows {
      guard let id = row.id else {
        if row.isOpen || row.isDeleted { continue }
        throw violation(device, type, row, "is clean and has no id")
      }
      if row.isDeleted && !row.isOpen { continue }
      // Two devices that restore a record under the same name create one resource, which the list shows as another record.
      let isShared = entity.repeats == .byUUID && rows.count { $0.id == id } > 1
      if live.updateValue(row, forKey: id) != nil, !isShared {
        throw violation(device, type, row, "has the id \(id) as well")
      }
      guard !row.isOpen, !isShared else { continue }
      guard let resource = api.store.resource(type, id) else {
        // A list that is not complete does not show deletions.
        if try !isComplete(entity) || waitsForParent(row.uuid, entity, connection) { continue }
        throw violation(device, type, row, "is not at the API, where it has the id \(id)")
      }
      guard !resource.isBroken else { continue }
      for (column, _) in entity.places {
        let theirs = resource.fields[column] ?? .null
        guard let ours = row.fields[column], !Self.areEqual(ours, theirs) else { continue }
        throw violation(device, type, row, "has another \(column) than the API: \(ours) and \(theirs.json)")
      }
    }
    if try holdsBack(type, connection) { return }
    for resource in api.store.all(type) where live[resource.id] == nil {
      guard isReadable(entity, resource), try !isExpectedToLack(entity, resource, connection) else { continue }
      throw Violation(
        6,
        ["\(device.name) lacks \(type) \(resource.id) of the API: \(SyncValue.object(resource.fields).json)"]
          + (try waiting(connection)))
    }
  }

  /// The versions that the device cannot store, its operations, and the problems of lists.
  private func waiting(_ connection: Connection) throws -> [String] {
    try connection.fetch(
      """
      SELECT entityType || ' ' || entityUuid || ' in the inbox: ' || reason || ' ' || coalesce(waitsFor, '') || ' ' || record
      FROM SyncInbox
      UNION ALL SELECT entityType || ' ' || entityUuid || ' ' || operationType || ' ' || status || ' ' || sendCount
        || coalesce(' ' || errorMessage, '') FROM OfflineSyncQueue WHERE completedAt IS NULL
      UNION ALL SELECT 'list ' || entityType || ': ' || problem FROM SyncFetch WHERE problem IS NOT NULL
      """, as: String.self)
  }

  private func violation(_ device: SimulatedDevice, _ type: String, _ row: Row, _ text: String) -> Violation {
    Violation(6, "\(device.name): \(type) \(row.uuid) \(text)")
  }

  private func rows(_ entity: APIStyle.EntityStyle, _ connection: Connection) throws -> [Row] {
    let kind = entity.kind
    var columns: [String] = []
    var selected: [String] = []
    for (column, _) in entity.places {
      columns.append(column)
      if let reference = kind.references.first(where: { $0.columns == [column] }),
        let target = api.style.entity(reference.entity)?.kind
      {
        selected.append(
          "(SELECT serverId FROM \(SQL.quoted(target.table)) AS target WHERE target.\(target.key) = record.\(column))")
      } else {
        selected.append("record.\(column)")
      }
    }
    let open = """
      EXISTS (SELECT 1 FROM OfflineSyncQueue AS operation WHERE operation.entityUuid = record.uuid AND completedAt IS NULL)
      OR EXISTS (SELECT 1 FROM OfflineConflictResolution AS conflict
        WHERE conflict.entityUuid = record.uuid AND resolvedAt IS NULL)
      OR EXISTS (SELECT 1 FROM SyncInbox AS inbox WHERE inbox.entityUuid = record.uuid)
      """
    var rows: [Row] = []
    let found = try connection.fetchRows(
      SQL(
        raw: "SELECT record.uuid, coalesce(serverId, -1), \(open), isDeleted FROM \(SQL.quoted(kind.table)) AS record"),
      as: String.self, Int64.self, Bool.self, Bool.self)
    for (uuid, id, isOpen, isDeleted) in found {
      var fields: [String: SQLArgument] = [:]
      for (column, expression) in zip(columns, selected) {
        fields[column] = try connection.fetchOne(
          SQL(
            raw: "SELECT \(expression) FROM \(SQL.quoted(kind.table)) AS record WHERE record.uuid = ?",
            arguments: [.text(uuid)]), as: SQLArgument.self)
      }
      rows.append(Row(uuid: uuid, id: id < 0 ? nil : id, isOpen: isOpen, isDeleted: isDeleted, fields: fields))
    }
    return rows
  }

  /// Whether a record was restored with a parent that the API has deleted, and whose operation or conflict waits for the
  /// user. It is created again after the parent.
  private func waitsForParent(_ uuid: String, _ entity: APIStyle.EntityStyle, _ connection: Connection) throws -> Bool {
    guard let reference = entity.parent, let parent = api.style.entity(reference.entity) else { return false }
    let found = try connection.fetchRows(
      """
      SELECT parent.uuid, parent.isDeleted = 0 AND (
          EXISTS (SELECT 1 FROM SyncBase AS base WHERE base.entityId = parent.\(identifier: parent.kind.key)
            AND base.entityType = \(parent.kind.entity) AND base.isDeleted = 1)
          OR EXISTS (SELECT 1 FROM OfflineConflictResolution AS conflict WHERE conflict.entityUuid = parent.uuid
            AND resolvedAt IS NULL))
      FROM \(identifier: entity.kind.table) AS record
      JOIN \(identifier: parent.kind.table) AS parent
        ON parent.\(identifier: parent.kind.key) = record.\(identifier: reference.columns[0])
      WHERE record.uuid = \(uuid)
      """, as: String.self, Bool.self)
    return try found.contains { try $0.1 || waitsForParent($0.0, parent, connection) }
  }

  /// Whether the list of an entity shows deletions. A list within another one is as complete as that one.
  private func isComplete(_ entity: APIStyle.EntityStyle) -> Bool {
    guard entity.isNested else { return entity.isComplete }
    return entity.parent.flatMap { api.style.entity($0.entity) }.map(isComplete) ?? false
  }

  /// Whether a device can store a resource: it and all that it needs have valid values.
  /// - Parameter path: the resources whose references lead here. A cycle needs nothing more.
  private func isReadable(
    _ entity: APIStyle.EntityStyle, _ resource: APIStore.Resource, _ path: Set<String> = []
  ) -> Bool {
    let name = "\(entity.name) \(resource.id)"
    if path.contains(name) { return true }
    guard !resource.isBroken else { return false }
    return entity.kind.references.allSatisfy { reference in
      guard case .integer(let id)? = resource.fields[reference.columns[0]] else { return true }
      guard let target = api.style.entity(reference.entity), let other = api.store.resource(reference.entity, id) else {
        return false
      }
      return isReadable(target, other, path.union([name]))
    }
  }

  /// Whether new records of a list wait, because one of them may be the device's own.
  private func holdsBack(_ type: String, _ connection: Connection) throws -> Bool {
    try connection.fetchOne(
      """
      SELECT 1 FROM OfflineSyncQueue
      WHERE entityType = \(type) AND completedAt IS NULL AND sendCount > 0 AND operationType <> 'delete'
      """, as: Int.self) != nil
  }

  /// Whether the device deletes the resource, or cannot have it because it lacks the one that it belongs to.
  private func isExpectedToLack(
    _ entity: APIStyle.EntityStyle, _ resource: APIStore.Resource, _ connection: Connection
  ) throws -> Bool {
    for reference in entity.kind.references {
      guard case .integer(let id)? = resource.fields[reference.columns[0]],
        let target = api.style.entity(reference.entity)?.kind
      else { continue }
      let isClean = try connection.fetchOne(
        """
        SELECT 1 FROM \(identifier: target.table) WHERE serverId = \(id) AND isDeleted = 0 AND syncStatus = 'synced'
        """, as: Int.self)
      if isClean == nil { return true }
    }
    return false
  }

  private static func areEqual(_ ours: SQLArgument, _ theirs: SyncValue) -> Bool {
    switch (ours, theirs) {
    case (.null, .null): true
    case (.text(let ours), .text(let theirs)): ours == theirs
    case (.integer(let ours), .integer(let theirs)): ours == theirs
    case (.real(let ours), .real), (.real(let ours), .integer): SyncValue(real: ours) == theirs
    default: false
    }
  }
}
