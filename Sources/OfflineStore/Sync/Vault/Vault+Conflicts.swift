import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of the conflict table, for people.
public struct ConflictEntry: Sendable, Hashable {
  /// Names the conflict.
  public let conflictId: String
  /// The kind of record.
  public let entityType: String
  /// Which record.
  public let entityUuid: String
  /// concurrent_edit, deleted_remotely, deleted_locally, not_unique or parent_missing.
  public let conflictType: String
  /// What both sides started from, a JSON object; nil when the server never had the record.
  public internal(set) var base: String?
  /// This device's version, a JSON object; as it is now as long as the conflict is open.
  public internal(set) var localVersion: String
  /// The server's version, a JSON object; nil when the server has none.
  public internal(set) var remoteVersion: String?
  /// The fields to decide, or those whose value gave way.
  public let fields: [String]
  /// The record that stands in the way, if one does: the one that has the UNIQUE value, or that references what was deleted here.
  public let other: RecordReference?
  /// When it was found, as text.
  public let detectedAt: String
  /// When it was resolved; nil as long as it is open.
  public let resolvedAt: String?
  /// local_wins, remote_wins, merge or manual.
  public let resolution: String?
  /// The user who decided, or `policy`.
  public let resolvedBy: String?
  /// What was said about it.
  public let notes: String?

  static let columns: SQL = """
    conflictId, entityType, entityUuid, conflictType, base, localVersion, remoteVersion, fields, detectedAt, resolvedAt,
    resolution, resolvedBy, notes, otherType, otherUuid
    """

  init(_ row: borrowing Row) throws {
    conflictId = try row.decode(at: 0)
    entityType = try row.decode(at: 1)
    entityUuid = try row.decode(at: 2)
    conflictType = try row.decode(at: 3)
    base = try row.decode(at: 4)
    localVersion = try row.decode(at: 5)
    remoteVersion = try row.decode(at: 6)
    var names: [String] = []
    if case .array(let elements) = try SyncValue(parsing: try row.decode(String.self, at: 7)) {
      for case .text(let name) in elements { names.append(name) }
    }
    fields = names
    detectedAt = try row.decode(at: 8)
    resolvedAt = try row.decode(at: 9)
    resolution = try row.decode(at: 10)
    resolvedBy = try row.decode(at: 11)
    notes = try row.decode(at: 12)
    let (type, uuid): (String?, String?) = (try row.decode(at: 13), try row.decode(at: 14))
    other = type.flatMap { type in uuid.map { RecordReference(entityType: type, entityUuid: $0) } }
  }
}

extension Vault {
  /// The conflicts, the oldest first.
  /// - Parameter resolved: those that are resolved, too, also by a policy.
  public func conflicts(resolved: Bool = false) throws -> [ConflictEntry] {
    try database.read { connection in
      let condition: SQL = resolved ? "1" : "resolvedAt IS NULL"
      return try conflicts(condition, connection)
    }
  }

  /// One conflict.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func conflict(_ id: String) throws -> ConflictEntry {
    let found = try database.read { try conflicts("conflictId = \(id)", $0) }
    guard let entry = found.first else {
      throw VaultError(
        .noSuchRecord, "there is no conflict \(id)", hint: "fieldvault conflicts list --all shows those there are")
    }
    return entry
  }

  private func conflicts(_ condition: SQL, _ connection: Connection) throws -> [ConflictEntry] {
    var entries: [ConflictEntry] = []
    let query: SQL = """
      SELECT \(ConflictEntry.columns) FROM OfflineConflictResolution WHERE \(condition) ORDER BY detectedAt, conflictId
      """
    try connection.forEach(query) { row in entries.append(try ConflictEntry(row)) }
    let catalog = syncCatalog
    for index in entries.indices {
      guard let table = catalog.tables[entries[index].entityType] else { continue }
      // A person may have gone on with the record since the conflict was found.
      if entries[index].resolvedAt == nil, let record = try table.find(entries[index].entityUuid, in: connection) {
        entries[index].localVersion = RecordVersion.json(record.state)
      }
      entries[index].localVersion = try table.entity.shown(entries[index].localVersion)
      entries[index].base = try entries[index].base.map { try table.entity.shown($0) }
      entries[index].remoteVersion = try entries[index].remoteVersion.map { try table.entity.shown($0) }
    }
    return entries
  }

  /// What is chosen for a field of a conflict.
  public enum ConflictChoice: Sendable, Hashable {
    case local, remote
    /// Another value, as text; a reference may be given as uuid.
    case value(String)
  }

  /// Resolves a conflict.
  /// - Parameters:
  ///   - takesLocal: whether this device's values count where nothing else is chosen.
  ///   - choices: for single fields.
  ///   - person: who decides, for the record.
  /// - Throws: ``VaultError`` with `noSuchRecord`, `noSuchField`, `badValue` or `refused`; nothing is changed then.
  public func resolveConflict(
    _ id: String, takesLocal: Bool, choices: [String: ConflictChoice] = [:], note: String? = nil, person: String
  ) throws {
    let catalog = syncCatalog
    try database.write { connection in
      let conflict = try OpenConflict.find(id, in: connection)
      let entity = try entities.entity(conflict.entityType)
      var fields: [String: FieldChoice] = [:]
      for (name, choice) in choices {
        switch choice {
        case .local: fields[name] = .local
        case .remote: fields[name] = .remote
        case .value(let text): fields[name] = .value(try value(text, of: entity.settableColumn(name), catalog, entity))
        }
      }
      try SyncTransaction.run(on: connection, catalog, now: Self.now) { transaction in
        try transaction.resolve(
          id, ConflictDecision(side: takesLocal ? .local : .remote, fields: fields, note: note, person: person))
      }
    }
  }

  private func value(
    _ text: String, of column: Catalog.Column, _ catalog: SyncCatalog, _ entity: Entity
  ) throws -> SyncValue {
    guard let table = catalog.tables[entity.type], let place = table.places[column.name] else {
      throw VaultError(.noSuchField, "\(entity.type) has no shared field '\(column.name)'", name: column.name)
    }
    if table.columns[place].reference != nil {
      if text.isEmpty { return .null }
      guard let uuid = UUID(sqlText: text) else {
        throw VaultError(.badValue, "\(entity.type).\(column.name) is not the uuid of a record", name: column.name)
      }
      return .text(uuid.sqlText)
    }
    let argument: SQLArgument
    do {
      argument = try FieldInput.text(text).argument(for: column)
    } catch let problem as FieldProblem {
      throw VaultError(.badValue, "\(entity.type).\(column.name) \(problem.message)", name: column.name)
    }
    return try table.columns[place].value(of: argument)
  }
}
