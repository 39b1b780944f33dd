import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The result of following other projects.
package struct ScopeChange: Sendable, Equatable {
  /// The number of records that were removed because the device does not follow their project.
  package var removed = 0
  /// The number of records that stay because they have unsent changes or files, by entity.
  package var kept: [String: Int] = [:]
}

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

  /// Removes the records of projects that the device no longer follows. Records with unsent changes or files stay,
  /// together with the records that they reference.
  package func leaveScopes() throws -> ScopeChange {
    var change = ScopeChange()
    guard let projects = catalog.tables[Self.scopeEntity], try !SyncSettings.scopes(in: connection).isEmpty else {
      return change
    }
    let left = try connection.fetch(
      """
      SELECT \(identifier: projects.entity.key) FROM \(identifier: projects.entity.table.name)
      WHERE uuid NOT IN (SELECT entityUuid FROM SyncScope)
      """, as: Int64.self)
    for key in left { try leave(key, &change) }
    return change
  }

  private func leave(_ project: Int64, _ change: inout ScopeChange) throws {
    // The dependents of the project, children before their parents.
    var members: [(table: RecordTable, keys: Set<Int64>)] = []
    var reached: [String: Set<Int64>] = [Self.scopeEntity: [project]]
    for table in catalog.parentsFirst {
      var keys = reached[table.entity.type] ?? []
      for reference in table.keys where reference.cascades {
        guard let parents = reached[reference.parent.type] else { continue }
        keys.formUnion(try rows(referring: reference, to: parents))
      }
      reached[table.entity.type] = keys
      if !keys.isEmpty { members.append((table, keys)) }
    }
    try WriteMode.purge(on: connection) { try remove(members, change: &change) }
  }

  private func remove(_ members: [(table: RecordTable, keys: Set<Int64>)], change: inout ScopeChange) throws {
    for (table, keys) in members.reversed() {
      for key in keys.sorted() {
        let entity = table.entity
        if try !QueuedOperation.ofRecord(entity.type, key, in: connection).isEmpty || hasUnsentFile(key, entity) {
          change.kept[entity.type, default: 0] += 1
          continue
        }
        guard try !isReferred(key, in: entity) else { continue }
        try BaseTable.forget(entity.type, key, in: connection)
        try connection.execute("DELETE FROM SyncCascade WHERE entityId = \(key) AND entityType = \(entity.type)")
        try connection.execute(
          "DELETE FROM \(identifier: entity.table.name) WHERE \(identifier: entity.key) = \(key)")
        change.removed += 1
      }
    }
  }

  /// Returns whether a file of the record exists on this device and not at the server.
  private func hasUnsentFile(_ key: Int64, _ entity: Entity) throws -> Bool {
    guard AttachmentEntity(entity) != nil else { return false }
    return try connection.fetchOne(
      """
      SELECT 1 FROM \(identifier: entity.table.name) JOIN AttachmentContent USING (contentUuid)
      WHERE \(identifier: entity.key) = \(key)
        AND (full = 'here' AND serverHasFull = 0 OR thumbnail = 'here' AND serverHasThumbnail = 0)
      """, as: Int.self) != nil
  }

  private func rows(referring reference: Dependency, to parents: Set<Int64>) throws -> Set<Int64> {
    let list = "[" + parents.map(String.init).joined(separator: ",") + "]"
    let (child, parent) = (reference.child, reference.parent)
    let own = SQL.joined(reference.key.columns.map { "\(identifier: $0.from)" })
    let targets = SQL.joined(reference.key.columns.map { "parent.\(identifier: $0.to)" })
    // Without an index on the columns, this reads the child's rows once and not once for each parent.
    return Set(
      try connection.fetch(
        """
        SELECT \(identifier: child.key) FROM \(identifier: child.table.name) WHERE (\(own)) IN (
          SELECT \(targets) FROM json_each(\(list)) AS above
          CROSS JOIN \(identifier: parent.table.name) AS parent ON parent.\(identifier: parent.key) = above.value)
        """, as: Int64.self))
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
}
