import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

extension SyncTransaction {
  /// The entity of the scopes: projects, for a device that does not follow all of them.
  package static let scopeEntity = "Project"

  /// Follows these projects from now on, or all projects if the list is empty. The next sync removes the records of
  /// other projects and fetches those of new ones.
  package func follow(_ uuids: [String]) throws {
    let before = try connection.fetch("SELECT entityUuid FROM SyncScope ORDER BY entityUuid", as: String.self)
    guard before != uuids.sorted() else { return }
    try connection.execute("DELETE FROM SyncScope")
    for uuid in Set(uuids) { try connection.execute("INSERT INTO SyncScope (entityUuid) VALUES (\(uuid))") }
    try SyncSettings.set(.leavesProjects, "true", in: connection)
    try SyncSettings.compareNext("projects", in: connection)
  }

  /// The column of a project, and its value, that mark it as active.
  package static let activeStatus = (column: "status", value: SyncValue.text("active"))

  /// Follows the projects that are active on the server, and projects that the server does not have yet.
  /// - Parameter mark: identifies the state of the server's projects.
  package func follow(active uuids: [String], mark: String) throws {
    var followed = Set(uuids)
    if let projects = catalog.tables[Self.scopeEntity] {
      followed.formUnion(
        try connection.fetch(
          "SELECT uuid FROM \(identifier: projects.entity.table.name) WHERE syncVersion = 0", as: String.self))
    }
    // An empty scope would mean all projects.
    try follow(followed.isEmpty ? [Self.noProject] : Array(followed))
    try SyncSettings.set(.activeProjects, mark, in: connection)
  }

  /// The nil uuid (RFC 9562, section 5.9), which no record has.
  private static let noProject = "00000000-0000-0000-0000-000000000000"

  // MARK: Leaving projects

  /// Removes records of a plan, except those that have an unsent change or file by now, or that a remaining record references.
  /// - Parameter lastOperation: the newest operation when the plan was read.
  /// - Returns: the number of removed records.
  package func leave(_ records: [LocalIdentity], _ cause: LeavingCause, since lastOperation: Int64) throws -> Int {
    let remembered = try uuidsInBases(since: lastOperation)
    var removed = 0
    try WriteMode.purge(on: connection) {
      for record in records {
        guard let entity = catalog.tables[record.type]?.entity,
          try mayLeave(record.key, entity, besides: remembered)
        else { continue }
        removed += try leave(record.key, entity, cause, besides: remembered)
      }
    }
    inbox.noteRemoval()
    return removed
  }

  private func leave(
    _ key: Int64, _ entity: Entity, _ cause: LeavingCause, besides remembered: Set<String>
  ) throws -> Int {
    do {
      guard try isReferred(key, in: entity) else {
        try connection.savepoint { try forget(key, entity, cause) }
        return 1
      }
      guard catalog.cyclic.contains(where: { $0.type == entity.type }) else { return 0 }
      // Dependents of a tree or a cycle leave with the record, also those that are no part of the plan.
      let reader = LeavingReader(catalog, in: connection)
      let (leaving, projects) = (RecordProjects(catalog, in: connection), try reader.projects(cause))
      let remembered = try reader.remembered()
      return try removeCycle(of: key, entity) { key, entity in
        guard try mayLeave(key, entity, besides: remembered) else { return false }
        return try cause == .revoked
          || leaving.project(of: LocalIdentity(entity.type, key)).map(projects.contains) == true
      } removing: {
        try forget($0, $1, cause)
      }
    } catch let error as SQLError where error.code == .constraint {
      // A row of a table without sync references the record.
      return 0
    }
  }

  /// Returns whether a record has neither an unsent change nor an unsent file, and no base references it.
  private func mayLeave(_ key: Int64, _ entity: Entity, besides remembered: Set<String>) throws -> Bool {
    let uuid = try connection.fetchOne(
      """
      SELECT uuid FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key) AND isDirty = 0
      """, as: String.self)
    guard let uuid, !remembered.contains(uuid) else { return false }
    return try QueuedOperation.ofRecord(entity.type, key, in: connection).isEmpty && !hasUnsentFile(key, entity)
  }

  /// Removes a record as if this device had never had it.
  private func forget(_ key: Int64, _ entity: Entity, _ cause: LeavingCause) throws {
    let isRecord: SQL =
      "(entityType, entityUuid) = (\(entity.type), (SELECT uuid FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)))"
    try connection.execute("DELETE FROM SyncInbox WHERE \(isRecord)")
    try connection.execute("DELETE FROM SyncExtraFields WHERE \(isRecord)")
    if cause != .unfollowed {
      // The history has values of the record.
      try connection.execute(
        """
        DELETE FROM OfflineConflictResolution
        WHERE entityId = \(key) AND entityType = \(entity.type) AND resolvedAt IS NOT NULL
        """)
    }
    try BaseTable.forget(entity.type, key, in: connection)
    try connection.execute("DELETE FROM SyncCascade WHERE entityId = \(key) AND entityType = \(entity.type)")
    try connection.execute(
      "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
  }

  /// Returns whether a file of the record exists on this device and not at the server.
  private func hasUnsentFile(_ key: Int64, _ entity: Entity) throws -> Bool {
    guard AttachmentEntity(entity) != nil else { return false }
    return try connection.fetchOne(
      """
      SELECT 1 FROM \(identifier: entity.table.name) JOIN AttachmentContent USING (contentUuid)
      WHERE \(identifier: entity.key) = \(key) AND \(raw: LeavingReader.isUnsentFile)
      """, as: Int.self) != nil
  }

  /// Returns the texts in the bases of records that the user changed after an operation was queued.
  private func uuidsInBases(since lastOperation: Int64) throws -> Set<String> {
    Set(
      try connection.fetch(
        """
        SELECT field.value FROM OfflineSyncQueue AS operation
        JOIN SyncBase AS base ON base.entityId = operation.entityId AND base.entityType = operation.entityType
        JOIN json_each(base.fields) AS field
        WHERE operation.queueNumber > \(lastOperation) AND field.type = 'text'
        """, as: String.self))
  }

  /// Removes versions from the inbox whose project leaves the device.
  package func forget(_ versions: [RecordIdentity]) throws {
    for version in versions {
      try connection.execute(
        """
        DELETE FROM SyncInbox WHERE (entityType, entityUuid) = (\(version.entityType), \(version.entityUuid))
        """)
    }
    inbox.noteRemoval()
  }

  /// Stores that the records of the projects have left the device as far as they can.
  /// - Parameter isDone: whether no record with an unsent change or file stays.
  package func endLeaving(_ cause: LeavingCause, isDone: Bool) throws {
    switch cause {
    case .unfollowed: try SyncSettings.set(.leavesProjects, isDone ? nil : "true", in: connection)
    case .revoked:
      try SyncSettings.set(.isRevoked, "true", in: connection)
      guard try SyncSettings.value(.removeWhenRevoked, in: connection) == "true" else { return }
      try connection.execute("DELETE FROM SyncInbox")
      try connection.execute("DELETE FROM SyncLostProject")
      // If the operator gives the device a new token, its first pull fetches everything again.
      for name in [SyncSettings.Name.cursor, .isFilled, .reconcileNext] {
        try SyncSettings.set(name, nil, in: connection)
      }
    case .lost:
      // A vault without the entity has no record of a project.
      let stored: SQL =
        catalog.tables[Self.scopeEntity].map { "SELECT uuid FROM \(identifier: $0.entity.table.name)" } ?? "SELECT ''"
      try connection.execute(
        """
        DELETE FROM SyncLostProject
        WHERE entityUuid NOT IN (SELECT entityUuid FROM SyncScope) AND entityUuid NOT IN (\(stored))
        """)
    }
  }

  // MARK: Lost memberships

  /// Stores the projects that a page announces as lost. They leave the device once the pull has reached its end: until then a later
  /// page can show that the user is a member again.
  package func noteRemovedProjects(in page: ChangesPage) throws {
    // A server shows a project to its members only, and sends all of its records to a new one.
    for change in page.changes where change.entityType == Self.scopeEntity {
      try connection.execute("DELETE FROM SyncLostProject WHERE entityUuid = \(change.entityUuid)")
    }
    for uuid in page.removedProjects {
      try connection.execute("INSERT OR IGNORE INTO SyncLostProject (entityUuid) VALUES (\(uuid))")
    }
  }

  /// Stores which projects the user has lost, according to a comparison.
  /// - Parameters:
  ///   - members: the projects of which the user is a member; `nil` if the server shows all of them.
  ///   - isNewEpoch: whether the server's history is another one. It may lack a project because it lost data, and the device must not
  ///     remove the only copy.
  /// - Returns: the projects whose records the comparison leaves out.
  package func noteMemberProjects(_ members: Set<String>?, isNewEpoch: Bool) throws -> [String] {
    guard let members else {
      try connection.execute("DELETE FROM SyncLostProject")
      return []
    }
    let list = SyncValue.array(members.sorted().map { .text($0) }).json
    try connection.execute(
      "DELETE FROM SyncLostProject WHERE entityUuid IN (SELECT value FROM json_each(\(list)))")
    if !isNewEpoch, let entity = catalog.tables[Self.scopeEntity]?.entity {
      try connection.execute(
        """
        INSERT OR IGNORE INTO SyncLostProject (entityUuid) SELECT uuid FROM \(identifier: entity.table.name)
        WHERE syncVersion > 0 AND uuid NOT IN (SELECT value FROM json_each(\(list)))
        """)
    }
    return try SyncSettings.lostProjects(in: connection)
  }

  /// Returns whether a record references this one.
  package func isReferred(_ key: Int64, in entity: Entity) throws -> Bool {
    try catalog.entities.dependencies(on: entity).contains { dependency in
      try connection.fetchOne(
        """
        SELECT 1 FROM \(identifier: entity.table.name) AS parent CROSS JOIN \(identifier: dependency.child.table.name) AS child
          ON \(raw: dependency.isReferring(child: "child", parent: "parent"))
        WHERE parent.\(identifier: entity.key) = \(key) LIMIT 1
        """, as: Int.self) != nil
    }
  }
}

extension SyncSettings {
  /// Returns the UUIDs of the projects that the device follows; an empty array means all projects.
  package static func scopes(in connection: Connection) throws -> [String] {
    try connection.fetch("SELECT entityUuid FROM SyncScope ORDER BY entityUuid", as: String.self)
  }

  /// Returns the UUIDs of the projects that the user has lost and that have not left the device.
  package static func lostProjects(in connection: Connection) throws -> [String] {
    try connection.fetch("SELECT entityUuid FROM SyncLostProject ORDER BY entityUuid", as: String.self)
  }
}
