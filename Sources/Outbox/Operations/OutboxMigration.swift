import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Adapts unsent work to a migration. Sealed payloads, inbox versions, conflicts and bases name columns and follow a
/// renamed column. Pending operations need nothing, because their payload is built from the record later.
package enum OutboxMigration {
  /// The columns of each entity before a file runs.
  package typealias Columns = [String: Set<String>]

  /// Returns the columns of the entities that have unsent work; empty if no record has any.
  package static func columns(on connection: WriteConnection) throws -> Columns {
    guard try isThere("OfflineSyncQueue", connection) else { return [:] }
    let types = Set(
      try connection.fetch(
        """
        SELECT DISTINCT entityType FROM SyncBase
        UNION SELECT entityType FROM OfflineConflictResolution WHERE resolvedAt IS NULL
        """, as: String.self))
    if types.isEmpty { return [:] }
    let catalog = SyncCatalog(try Entities.read(from: connection))
    return catalog.tables.filter { types.contains($0.key) }.mapValues { Set($0.places.keys) }
  }

  /// Renames columns in unsent work as a file has renamed them in the tables, and adds its new columns to the bases.
  /// - Parameters:
  ///   - renames: the columns that the file has renamed.
  ///   - before: the columns before the file ran.
  package static func follow(
    _ file: MigrationFile, _ renames: RenamedColumns, from before: Columns, on connection: WriteConnection
  ) throws {
    guard try isThere("OfflineSyncQueue", connection) else { return }
    for (type, names) in renames.names { try rename(names, of: type, on: connection) }
    if before.isEmpty { return }
    let catalog = SyncCatalog(try Entities.read(from: connection))
    for (type, columns) in before {
      guard let table = catalog.tables[type] else { continue }
      let renamed = Dictionary(
        (renames.names[type] ?? []).map { ($0.from, $0.to) }, uniquingKeysWith: { first, _ in first })
      let old = Set(columns.map { renamed[$0] ?? $0 })
      let change = ColumnChange(
        added: table.columns.map(\.name).filter { !old.contains($0) }, removed: old.filter { table.places[$0] == nil })
      if !change.isEmpty { try complete(change, of: table, on: connection) }
      if file.name == looseTypes, CoreSchema.schema.migrations.contains(file) { try retype(table, on: connection) }
    }
  }

  /// The file of FieldVault's own schema since which values of tables that are not STRICT keep their types in bases.
  private static let looseTypes = "loose_types"

  /// Gives numbers in the bases of a table that is not STRICT the form in which they are sent now. Before, a base had a
  /// number of a NUMERIC column as text, or with 15 digits.
  private static func retype(_ table: RecordTable, on connection: WriteConnection) throws {
    if table.entity.table.isStrict { return }
    try rewriteBases(of: table, on: connection) { fields, key in
      guard let record = try table.find(key: key, in: connection) else { return nil }
      var typed = fields
      for member in fields.members {
        let argument: SQLArgument
        switch record.state.fields[member.name] {
        case .integer(let number)?: argument = .integer(number)
        case .real(let real)?: argument = .real(real.number)
        default: continue
        }
        guard let text = try connection.fetchOne("SELECT CAST(\(argument) AS TEXT)", as: String.self) else { continue }
        let earlier: [SyncValue] = [.text(text), try SyncValue(parsing: text)]
        if earlier.contains(member.value) { typed[member.name] = record.state.fields[member.name] }
      }
      return typed == fields ? nil : typed
    }
  }

  private struct ColumnChange {
    let added: [String]
    let removed: Set<String>
    var isEmpty: Bool { added.isEmpty && removed.isEmpty }
  }

  /// Adds the columns of a file to the bases, with the values that the file gave to the rows. These values are not
  /// edits and must not overwrite values of the server.
  ///
  /// A file that also removes a column may have renamed it without a row in `SyncedColumnRename`. In this case only
  /// the default counts as no edit.
  private static func complete(_ change: ColumnChange, of table: RecordTable, on connection: WriteConnection) throws {
    let defaults = try table.defaults(of: change.added, in: connection)
    try rewriteBases(of: table, on: connection) { fields, key in
      guard let record = try table.find(key: key, in: connection) else { return nil }
      var completed = fields.filter { !change.removed.contains($0.name) }
      for name in change.added where completed[name] == nil {
        guard let value = record.state.fields[name], change.removed.isEmpty || value == defaults[name] else { continue }
        completed[name] = value
      }
      return completed == fields ? nil : completed
    }
  }

  /// Changes the fields of bases, including those of open conflicts.
  /// - Parameter rewrite: returns the new fields of the record with a local id, or `nil` to keep them.
  private static func rewriteBases(
    of table: RecordTable, on connection: WriteConnection, _ rewrite: (SyncObject, Int64) throws -> SyncObject?
  ) throws {
    let type = table.entity.type
    let bases = try connection.fetchRows(
      "SELECT entityId, fields FROM SyncBase WHERE entityType = \(type)", as: Int64.self, String.self)
    for (key, json) in bases {
      guard let fields = try rewrite(try SyncObject(parsing: json), key) else { continue }
      try connection.execute(
        """
        UPDATE SyncBase SET fields = \(SyncValue.object(fields).json) WHERE entityId = \(key) AND entityType = \(type)
        """)
    }
    let versions = try connection.fetchRows(
      """
      SELECT entityId, conflictId, base FROM OfflineConflictResolution
      WHERE entityType = \(type) AND resolvedAt IS NULL AND base IS NOT NULL
      """, as: Int64.self, String.self, String.self)
    for (key, id, json) in versions {
      var state = try RecordVersion.state(json)
      guard let fields = try rewrite(state.fields, key) else { continue }
      state.fields = fields
      try connection.execute(
        "UPDATE OfflineConflictResolution SET base = \(RecordVersion.json(state)) WHERE conflictId = \(id)")
    }
  }

  private static func rename(
    _ names: [ColumnRename], of type: String, on connection: WriteConnection
  ) throws {
    for (table, key, column, condition) in [
      ("OfflineSyncQueue", "queueNumber", "payload", "payload IS NOT NULL"),
      ("OfflineSyncQueue", "queueNumber", "sentPayload", "sentPayload IS NOT NULL"),
      ("SyncInbox", "rowid", "record", "1"),
      ("OfflineConflictResolution", "rowid", "base", "resolvedAt IS NULL AND base IS NOT NULL"),
      ("OfflineConflictResolution", "rowid", "localVersion", "resolvedAt IS NULL"),
      ("OfflineConflictResolution", "rowid", "remoteVersion", "resolvedAt IS NULL AND remoteVersion IS NOT NULL"),
      ("OfflineConflictResolution", "rowid", "fields", "resolvedAt IS NULL"), ("SyncBase", "entityId", "fields", "1"),
    ] {
      let rows = try connection.fetchRows(
        "SELECT \(raw: key), \(raw: column) FROM \(raw: table) WHERE entityType = \(type) AND \(raw: condition)",
        as: Int64.self, String.self)
      for (row, json) in rows {
        let value = try SyncValue(parsing: json)
        var renamed = value.renamingFields(names)
        guard renamed != value else { continue }
        if column == "payload" { renamed = renamed.keepingDigest(of: value) }
        try connection.execute(
          """
          UPDATE \(raw: table) SET \(raw: column) = \(renamed.json) WHERE \(raw: key) = \(row) AND entityType = \(type)
          """)
      }
    }
  }

  /// Queues failed operations again, which the old tables may have stopped.
  package static func retryFailed(on connection: WriteConnection) throws {
    guard try isThere("OfflineSyncQueue", connection),
      try connection.fetchOne("SELECT 1 FROM OfflineSyncQueue WHERE status = 'failed' LIMIT 1", as: Int.self) != nil
    else { return }
    try run(on: connection) { try $0.retryFailed() }
  }

  /// Requests a comparison if the vault may know an entity now whose records a comparison has skipped.
  package static func compareSkipped(on connection: WriteConnection) throws {
    guard try isThere("SyncInbox", connection), try SyncSettings.value(.lacksEntities, in: connection) != nil else {
      return
    }
    try SyncSettings.compareNext("entities", in: connection)
  }

  /// Applies inbox versions and kept fields of a newer server. The actions of foreign keys are part of a version, so foreign
  /// keys must be enforced. The next sync does the same.
  package static func applyWaiting(on connection: WriteConnection) throws {
    guard try isThere("SyncInbox", connection),
      try connection.fetchOne(
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM SyncInbox) OR EXISTS (SELECT 1 FROM SyncExtraFields)", as: Int.self)
        != nil
    else { return }
    try run(on: connection) { transaction in
      var counts = ApplyCounts()
      try transaction.changes.admitAgain(counts: &counts)
      try transaction.changes.applyKeptFields()
    }
  }

  private static func run(on connection: WriteConnection, _ body: (SyncTransaction) throws -> Void) throws {
    let catalog = SyncCatalog(try Entities.read(from: connection))
    try SyncTransaction.run(on: connection, catalog, now: connection.environment.now, body)
  }

  private static func isThere(_ table: String, _ connection: Connection) throws -> Bool {
    try connection.fetchOne(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = \(table)", as: Int.self) != nil
  }
}

extension SyncValue {
  /// Returns this value with other names of its members at the top level and one level below, which has the fields of
  /// records.
  fileprivate func renamingFields(_ renames: [ColumnRename]) -> SyncValue {
    guard case .object(var object) = renaming(renames) else { return renaming(renames) }
    for name in ["fields", "base", "editTimes", "userEditedFields"] {
      if let inner = object[name] { object[name] = inner.renaming(renames) }
    }
    return .object(object)
  }

  /// Adds the digest of a payload to the payload that replaces it. The server may have executed the former one.
  fileprivate func keepingDigest(of former: SyncValue) -> SyncValue {
    guard case .object(var operation) = self, case .object(let content) = former else { return self }
    operation["sealedDigest"] = .text(OperationContent(key: "", operation: content).digest)
    return .object(operation)
  }
}

/// An operation that refers to a column that its table no longer has.
public struct OrphanedOperation: Sendable, Hashable {
  /// The id of the operation.
  public let operationId: String
  /// The entity of the record.
  public let entityType: String
  /// The name of the missing column.
  public let field: String

  package init(operationId: String, entityType: String, field: String) {
    (self.operationId, self.entityType, self.field) = (operationId, entityType, field)
  }
}
