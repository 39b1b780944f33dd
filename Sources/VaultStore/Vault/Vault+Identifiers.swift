import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A word with which a user names a record, an operation or a conflict.
///
/// - Digits without a leading zero are the local id of a record, and never the beginning of a UUID.
/// - Any other word of hexadecimal digits is a UUID or the beginning of one, with or without hyphens and in any case. A
///   hyphen makes the digits `12345678-` the beginning of a UUID.
///
/// The meaning of a word therefore does not depend on the records of a vault.
public enum Identifier: Hashable, Sendable {
  /// A whole UUID.
  case uuid(UUID)
  /// The beginning of a UUID in the form in which it is stored.
  case prefix(String)
  /// The local id of a record.
  case local(Int64)

  /// The length of the shortest prefix.
  public static let shortestPrefix = 4

  /// Reads a word.
  /// - Parameter isRecord: whether the word may be a local id.
  /// - Returns: `nil` for a word that can be none of them, or for a prefix that is too short. The id of an operation or a
  ///   conflict is opaque, so that other words are the beginning of an id that does not exist.
  public init?(_ word: String, isRecord: Bool = true) {
    let isNumber = !word.isEmpty && word.utf8.allSatisfy { (0x30...0x39).contains($0) }
    if isRecord, isNumber, word == "0" || !word.hasPrefix("0") {
      guard let number = Int64(word) else { return nil }
      self = .local(number)
      return
    }
    let digits = word.lowercased().filter { $0 != "-" }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
      (Self.shortestPrefix...32).contains(digits.utf8.count)
    else {
      guard !isRecord, word.count >= Self.shortestPrefix else { return nil }
      self = .prefix(word)
      return
    }
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    if let uuid = UUID(sqlText: text) { self = .uuid(uuid) } else { self = .prefix(text) }
  }
}

/// The records that a command acts on.
public enum RecordStanding: Sendable {
  case live, deleted
}

extension Vault {
  /// Returns the UUID of the record that a word names. A whole UUID is returned without a look-up.
  ///
  /// A prefix is unique if one record of the standing has it. A prefix that only a record of the other standing has names
  /// that record, so that the command can report its standing.
  /// - Throws: ``VaultError`` with `ambiguous` and some of the UUIDs, or with `noSuchRecord`.
  public func uuid(
    _ identifier: Identifier, of entity: Entity, among standing: RecordStanding = .live
  ) throws -> UUID {
    let found = try database.read { connection in
      try IdentifierSearch(connection).find(identifier, standing == .live ? .live : .deleted, of: [entity])
    }
    return try found.only(
      named: identifier, entity.type,
      remedy: standing == .live ? .showRecords(entity: entity.type) : .showDeletedRecords(entity: entity.type))
  }

  /// Returns the UUID of the attachment that a word names.
  /// - Throws: ``VaultError`` with `ambiguous` and some of the UUIDs, or with `noSuchRecord`.
  public func attachmentUUID(_ identifier: Identifier) throws -> UUID {
    let found = try database.read { connection in
      try IdentifierSearch(connection).find(identifier, .live, of: entities.attachments.map(\.entity))
    }
    return try found.only(named: identifier, "attachment", remedy: .showAttachments)
  }

  /// Returns the id of the operation that a word names.
  /// - Throws: ``VaultError`` with `ambiguous` and some of the ids, or with `noSuchRecord`.
  public func operationID(_ identifier: Identifier) throws -> String {
    let found = try database.read { connection in
      try IdentifierSearch(connection).find(identifier, in: "OfflineSyncQueue", column: "operationId")
    }
    return try found.only(named: identifier, "operation", remedy: .showWholeOutbox).sqlText
  }

  /// Returns the id of the conflict that a word names.
  /// - Throws: ``VaultError`` with `ambiguous` and some of the ids, or with `noSuchRecord`.
  public func conflictID(_ identifier: Identifier) throws -> String {
    let found = try database.read { connection in
      try IdentifierSearch(connection).find(identifier, in: "OfflineConflictResolution", column: "conflictId")
    }
    return try found.only(named: identifier, "conflict", remedy: .showAllConflicts).sqlText
  }

  /// Returns the value of a reference with a prefix of a UUID replaced by the UUID. Every other value is returned unchanged.
  /// - Throws: ``VaultError`` with `ambiguous` or `noSuchRecord`.
  public func referenceValue(_ text: String, of field: String, in entity: Entity) throws -> String {
    guard let reference = entity.reference(of: field), let target = entities.entity(ofTable: reference.table),
      entity.table.column(field)?.type == .integer, let identifier = Identifier(text), case .prefix = identifier
    else { return text }
    return try uuid(identifier, of: target).sqlText
  }

  /// Returns the value of the setting `projects` with words for records replaced by their UUIDs.
  /// - Throws: ``VaultError`` with `ambiguous` or `noSuchRecord`.
  public func projectsValue(_ value: String) throws -> String {
    guard let scope = entities.all.first(where: { $0.type == SyncTransaction.scopeEntity }) else { return value }
    return try value.split(separator: ",", omittingEmptySubsequences: false).map { part in
      let word = part.filter { $0 != " " }
      return try Identifier(word).map { try uuid($0, of: scope).sqlText } ?? word
    }.joined(separator: ",")
  }
}

/// An id, and a text for the user who chooses among several.
public struct NamedIdentifier: Sendable, Hashable {
  /// The id.
  public let id: String
  /// A description of what the id names. An empty text means that there is none.
  public let text: String

  /// Creates a named id.
  public init(_ id: String, _ text: String = "") { (self.id, self.text) = (id, text) }
}

/// Ids for the completion of a line, in the order of the ids. For an empty beginning, these are the ids that a user most
/// likely means: the newest records, unfinished operations, open conflicts. The cost does not grow with the
/// number of records, operations or resolved conflicts.
extension Vault {
  /// Returns the UUIDs of records that begin with a text, each with the first text field of its record.
  public func records(
    beginningWith text: String, of entity: Entity, among standing: RecordStanding = .live, limit: Int
  ) throws -> [NamedIdentifier] {
    try database.read { try $0.fetchRows(Self.named(text, entity, standing, limit), as: String.self, String.self) }
      .map { NamedIdentifier($0.0, $0.1) }
  }

  /// The query of ``records(beginningWith:of:among:limit:)``.
  static func named(_ text: String, _ entity: Entity, _ standing: RecordStanding, _ limit: Int) -> SQL {
    let texts = entity.table.columns.filter { $0.type == .text && $0.name != "uuid" && !entity.isKept($0.name) }
    let label: SQL = texts.first.map { "coalesce(\(identifier: $0.name), '')" } ?? "''"
    let columns: SQL =
      entity.marksDeletion ? "uuid, \(label) AS label, isDeleted" : "uuid, \(label) AS label, 0 AS isDeleted"
    // The number of examined rows is limited, because few of them may have the standing.
    let examined = 10 * limit
    let rows: SQL =
      text.isEmpty
      ? "FROM \(identifier: entity.table.name) ORDER BY \(identifier: entity.key) DESC LIMIT \(examined)"
      : """
      \(IdentifierSearch.rows(beginningWith: text, in: entity.table.name, column: "uuid", condition: nil))
      ORDER BY uuid LIMIT \(examined)
      """
    return """
      SELECT uuid, label FROM (SELECT \(columns) \(rows)) WHERE isDeleted = \(standing == .live ? 0 : 1) LIMIT \(limit)
      """
  }

  /// Returns the UUIDs of attachments that begin with a text.
  public func attachments(beginningWith text: String, limit: Int) throws -> [NamedIdentifier] {
    let all = try entities.attachments.flatMap { try records(beginningWith: text, of: $0.entity, limit: limit) }
    return Array(all.prefix(limit))
  }

  /// Returns the ids of operations that begin with a text.
  public func operations(beginningWith text: String, limit: Int) throws -> [NamedIdentifier] {
    if text.isEmpty {
      return try firstOperations(limit: limit).map {
        NamedIdentifier($0.operationId, "\($0.operationType) \($0.entityType), \($0.status)")
      }
    }
    return try identifiers(
      text, in: "OfflineSyncQueue", "operationId", "operationType || ' ' || entityType || ', ' || status", limit)
  }

  /// Returns the ids of conflicts that begin with a text.
  public func conflicts(beginningWith text: String, limit: Int) throws -> [NamedIdentifier] {
    if text.isEmpty {
      return try conflicts(limit: limit).map {
        NamedIdentifier($0.conflictId, "\($0.entityType), \($0.conflictType.replacing("_", with: " "))")
      }
    }
    return try identifiers(
      text, in: "OfflineConflictResolution", "conflictId",
      "entityType || ', ' || replace(conflictType, '_', ' ')", limit)
  }

  private func identifiers(
    _ text: String, in table: String, _ column: String, _ label: SQL, _ limit: Int
  ) throws -> [NamedIdentifier] {
    let rows = IdentifierSearch.rows(beginningWith: text, in: table, column: column, condition: nil)
    return try database.read {
      try $0.fetchRows(
        "SELECT \(identifier: column), \(label) \(rows) ORDER BY \(identifier: column) LIMIT \(limit)",
        as: String.self, String.self)
    }
    .map { NamedIdentifier($0.0, $0.1) }
  }
}

/// Finds the ids that a word can mean, with the index of the ids.
struct IdentifierSearch {
  /// The ids that were found: some of them, and how many there are.
  struct Found {
    var ids: [UUID] = []
    var count = 0

    /// Returns the only id.
    func only(named identifier: Identifier, _ noun: String, remedy: Remedy) throws(VaultError) -> UUID {
      if let id = ids.first, count == 1 { return id }
      switch identifier {
      case .prefix(let text) where count > 1:
        throw VaultError(
          .ambiguous, "'\(text)' is the beginning of \(count) \(noun) ids", hint: "give more characters of the id",
          name: text, candidates: ids.map(\.sqlText), candidateCount: count)
      case .local where count > 1:
        throw VaultError(
          .ambiguous, "\(count) records have this local id", hint: "give the uuid", candidates: ids.map(\.sqlText),
          candidateCount: count)
      case .prefix(let text):
        throw VaultError(.noSuchRecord, "no \(noun) whose id begins with '\(text)'", remedy: remedy)
      case .local:
        throw VaultError(.noSuchRecord, "no \(noun) with this local id", remedy: remedy)
      case .uuid: throw VaultError(.noSuchRecord, "no \(noun) with this uuid", remedy: remedy)
      }
    }
  }

  /// The rows of a table among which a word is unique.
  enum Rows {
    case all, live, deleted
  }

  /// How many ids an error names.
  static let shownIDs = 5

  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  /// Returns the records of the entities that a word can mean, in the rows of the standing if there are any.
  func find(_ identifier: Identifier, _ rows: Rows, of entities: [Entity]) throws -> Found {
    let found = try find(identifier, rows, in: entities)
    return found.count > 0 ? found : try find(identifier, .all, in: entities)
  }

  private func find(_ identifier: Identifier, _ rows: Rows, in entities: [Entity]) throws -> Found {
    var all = Found()
    for entity in entities {
      let rows: Rows = entity.marksDeletion ? rows : .all
      let found = try find(
        identifier, in: entity.table.name, column: "uuid", key: entity.key, condition: Self.condition(rows))
      all.ids = Array((all.ids + found.ids).prefix(Self.shownIDs))
      all.count += found.count
    }
    return all
  }

  private static func condition(_ rows: Rows) -> SQL? {
    switch rows {
    case .all: nil
    // The sign keeps an index of the column from being preferred to that of the ids.
    case .live: "+isDeleted = 0"
    case .deleted: "+isDeleted = 1"
    }
  }

  /// Returns the ids of a table that a word can mean.
  func find(
    _ identifier: Identifier, in table: String, column: String, key: String = "rowid", condition: SQL? = nil
  ) throws -> Found {
    switch identifier {
    case .uuid(let uuid): return Found(ids: [uuid], count: 1)
    case .local(let number):
      var query: SQL = "SELECT \(identifier: column) FROM \(identifier: table) WHERE \(identifier: key) = \(number)"
      if let condition { query.append(" AND \(condition)") }
      let ids = try connection.fetch(query, as: UUID.self)
      return Found(ids: ids, count: ids.count)
    case .prefix(let text):
      let rows = Self.rows(beginningWith: text, in: table, column: column, condition: condition)
      let ids = try connection.fetch(
        "SELECT \(identifier: column) \(rows) ORDER BY \(identifier: column) LIMIT \(Self.shownIDs + 1)", as: UUID.self)
      guard ids.count > 1 else { return Found(ids: ids, count: ids.count) }
      let count =
        ids.count <= Self.shownIDs ? ids.count : try connection.fetchOne("SELECT count(*) \(rows)", as: Int.self) ?? 0
      return Found(ids: Array(ids.prefix(Self.shownIDs)), count: count)
    }
  }

  /// Returns the rows whose id begins with a text, as a range that an index answers.
  static func rows(beginningWith text: String, in table: String, column: String, condition: SQL?) -> SQL {
    // Every character of an id precedes 'g'.
    var rows: SQL = """
      FROM \(identifier: table) WHERE \(identifier: column) >= \(text) AND \(identifier: column) < \(text + "g")
      """
    if let condition { rows.append(" AND \(condition)") }
    return rows
  }
}
