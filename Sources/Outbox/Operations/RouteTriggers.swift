import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// The triggers that refuse writes for which a REST remote has no route, when they are made. They exist only while
/// the vault's server is a REST remote.
package struct RouteTriggers {
  private static let prefix = DerivedTriggers.prefix + "route_"

  /// Creates the triggers for the routes of the vault, and drops the old ones.
  package static func replace(for entities: Entities, in connection: WriteConnection) throws {
    try connection.asMigration { try make(for: entities, in: connection) }
  }

  /// Replaces the routes of the vault; see ``replace(for:in:)`` for their triggers.
  /// - Parameter rows: the entities and the kinds of operation that the remote accepts.
  package static func store(_ rows: [(type: String, kind: String)], in connection: WriteConnection) throws {
    try connection.asMigration {
      try connection.execute("DELETE FROM SyncRoute")
      for row in rows {
        try connection.execute("INSERT INTO SyncRoute (entityType, operationType) VALUES (\(row.type), \(row.kind))")
      }
    }
  }

  private static func make(for entities: Entities, in connection: WriteConnection) throws {
    let old = try connection.fetch(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB \(prefix + "*")", as: String.self)
    for name in old { try connection.execute("DROP TRIGGER \(identifier: name)") }
    guard try SyncSettings.value(.remoteRoutes, in: connection) != nil else { return }
    let rows = try connection.fetchRows("SELECT entityType, operationType FROM SyncRoute", as: String.self, String.self)
    let ways = Dictionary(grouping: rows, by: \.0).mapValues { Set($0.compactMap { OperationKind(rawValue: $0.1) }) }
    for entity in entities.all where entity.sync != nil && entity.hasCommonFields {
      for sql in statements(for: entity, ways[entity.type] ?? [], in: entities) {
        try connection.execute(SQL(raw: sql))
      }
    }
  }

  /// Creates the triggers in a database that was rebuilt from another database, for the routes of the other database.
  package static func copy(from database: Connection, to rebuilt: WriteConnection) throws {
    let isThere = try database.fetchOne(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'SyncRoute'", as: Int.self)
    guard isThere != nil, let text = try SyncSettings.value(.remoteRoutes, in: database) else { return }
    try SyncSettings.set(.remoteRoutes, text, in: rebuilt)
    let rows = try database.fetchRows("SELECT entityType, operationType FROM SyncRoute", as: String.self, String.self)
    try store(rows.map { (type: $0.0, kind: $0.1) }, in: rebuilt)
    try replace(for: Entities.read(from: rebuilt), in: rebuilt)
  }

  /// - Parameter ways: the kinds of operation that the remote accepts.
  package static func statements(for entity: Entity, _ ways: Set<OperationKind>, in entities: Entities) -> [String] {
    let table = SQL.quoted(entity.table.name)
    let isByUser = "\(WriteMode.isByUser) AND NOT \(CascadeTriggers.isUnderWay(entity, row: "NEW"))"
    func trigger(_ name: String, _ event: String, _ condition: String, _ message: String) -> String {
      """
      CREATE TRIGGER \(DerivedTriggers.name("route_\(name)", of: entity)) BEFORE \(event) ON \(table)
      WHEN \(condition) AND \(isByUser)
      BEGIN
        SELECT RAISE(ABORT, '\(message.replacingQuotes)');
      END
      """
    }
    // The remote may have stored the record, so a change could only follow as an update.
    let isBeingMade = """
      EXISTS (SELECT 1 FROM OfflineSyncQueue WHERE entityId = OLD.\(SQL.quoted(entity.key)) AND entityType = '\(entity.type.replacingQuotes)'
        AND operationType = 'create' AND payload IS NOT NULL AND completedAt IS NULL AND status <> 'failed')
      """
    var statements: [String] = []
    if !ways.contains(.create) {
      statements.append(
        trigger("insert", "INSERT", "NEW.isDeleted = 0", "the server does not accept new \(entity.type) records"))
    }
    if !ways.contains(.update) {
      let columns = entity.sharedColumns(in: entities).map { SQL.quoted($0.name) }
      let isChanged = columns.map { "NEW.\($0) IS NOT OLD.\($0)" }.joined(separator: " OR ")
      if !columns.isEmpty {
        statements.append(
          trigger(
            "update", "UPDATE OF \(columns.joined(separator: ", "))",
            "(OLD.serverId IS NOT NULL OR \(isBeingMade)) AND (\(isChanged))",
            "the server does not accept changes to \(entity.type) records"))
      }
    }
    if !ways.contains(.delete) {
      statements.append(
        trigger(
          "delete", "UPDATE OF isDeleted", "OLD.serverId IS NOT NULL AND NEW.isDeleted = 1 AND OLD.isDeleted = 0",
          "the server does not accept deletions of \(entity.type) records"))
    }
    return statements
  }
}
