import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A row of the conflict table, as commands show it.
public struct ConflictEntry: Sendable, Hashable {
  /// The id of the conflict.
  public let conflictId: String
  /// The entity of the record.
  public let entityType: String
  /// The UUID of the record.
  public let entityUuid: String
  /// `concurrent_edit`, `deleted_remotely`, `deleted_locally`, `not_unique` or `parent_missing`.
  public let conflictType: String
  /// The common version of both sides as a JSON object; `nil` if the server never had the record.
  public internal(set) var base: String?
  /// The local version as a JSON object. While the conflict is open, it includes the latest edits.
  public internal(set) var localVersion: String
  /// The remote version as a JSON object; `nil` if the server has no version.
  public internal(set) var remoteVersion: String?
  /// The fields to decide, or the fields whose values were overwritten.
  public let fields: [String]
  /// The record that has the UNIQUE value, or that references the record that was deleted here.
  public let other: RecordReference?
  /// The time when it was found, in ISO 8601.
  public let detectedAt: String
  /// The time when it was resolved; `nil` while it is open.
  public let resolvedAt: String?
  /// `local_wins`, `remote_wins`, `merge` or `manual`.
  public let resolution: String?
  /// The deciding user, or `policy`.
  public let resolvedBy: String?
  /// The note of the user, or the reason of the policy.
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
  /// Returns the conflicts, or one page of them, the oldest first. Only the versions of the returned conflicts are read.
  /// - Parameters:
  ///   - resolved: whether to include conflicts that a user or a policy resolved.
  ///   - after: the id of the conflict before the page; `nil` for the first page, and also an id that no longer exists.
  ///   - limit: the greatest number of conflicts on the page; `nil` for all.
  /// - Complexity: without `resolved`, the rows of all open conflicts are read and sorted, and no resolved ones; with it,
  ///   only those of the page.
  public func conflicts(resolved: Bool = false, after: String? = nil, limit: Int? = nil) throws -> [ConflictEntry] {
    try database.read { connection in
      let start = try after.flatMap { id in
        try connection.fetchOne(
          "SELECT detectedAt FROM OfflineConflictResolution WHERE conflictId = \(id)", as: String.self
        )
        .map { (time: $0, id: id) }
      }
      return try conflicts(Self.conflictPage(resolved: resolved, after: start, limit: limit), connection)
    }
  }

  /// The part of a query after the table's name that chooses and sorts one page of the conflicts.
  static func conflictPage(resolved: Bool, after: (time: String, id: String)?, limit: Int?) -> SQL {
    // The plus keeps SQLite from the index of the times, which would visit all resolved conflicts as well.
    let time: SQL = resolved ? "detectedAt" : "+detectedAt"
    let state: SQL = resolved ? "1" : "resolvedAt IS NULL"
    let start: SQL = after.map { "(\(time), conflictId) > (\($0.time), \($0.id))" } ?? "1"
    // SQLite has no limit below 0.
    return "WHERE \(state) AND \(start) ORDER BY \(time), conflictId LIMIT \(limit ?? -1)"
  }

  /// Returns a conflict.
  /// - Throws: ``VaultError`` with `noSuchRecord`.
  public func conflict(_ id: String) throws -> ConflictEntry {
    let found = try database.read { try conflicts("WHERE conflictId = \(id)", $0) }
    guard let entry = found.first else {
      throw VaultError(
        .noSuchRecord, "no conflict \(id)", remedy: .showAllConflicts)
    }
    return entry
  }

  private func conflicts(_ clauses: SQL, _ connection: Connection) throws -> [ConflictEntry] {
    var entries: [ConflictEntry] = []
    let query: SQL = "SELECT \(ConflictEntry.columns) FROM OfflineConflictResolution \(clauses)"
    try connection.forEach(query) { row in entries.append(try ConflictEntry(row)) }
    let catalog = syncCatalog
    for index in entries.indices {
      guard let table = catalog.tables[entries[index].entityType] else { continue }
      // The user may have edited the record since the conflict was found.
      if entries[index].resolvedAt == nil, let record = try table.find(entries[index].entityUuid, in: connection) {
        entries[index].localVersion = RecordVersion.json(record.state)
      }
      entries[index].localVersion = try table.entity.shown(entries[index].localVersion)
      entries[index].base = try entries[index].base.map { try table.entity.shown($0) }
      entries[index].remoteVersion = try entries[index].remoteVersion.map { try table.entity.shown($0) }
    }
    return entries
  }

  /// A choice for a field of a conflict.
  public enum ConflictChoice: Sendable, Hashable {
    case local, remote
    /// Another value as text. A reference may be a UUID.
    case value(String)
  }

  /// Resolves a conflict.
  /// - Parameters:
  ///   - takesLocal: whether the local values count for fields without a choice.
  ///   - choices: the choices for single fields.
  ///   - user: the name of the deciding user.
  /// - Throws: ``VaultError`` with `noSuchRecord`, `noSuchField`, `badValue` or `refused`. Nothing is changed in this
  ///   case.
  public func resolveConflict(
    _ id: String, takesLocal: Bool, choices: [String: ConflictChoice] = [:], note: String? = nil, user: String
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
      try SyncTransaction.run(on: connection, catalog, now: connection.environment.now) { transaction in
        try transaction.resolver.resolve(
          id, ConflictDecision(side: takesLocal ? .local : .remote, fields: fields, note: note, user: user))
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
