import CipherSQL
import SchemaModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A record that a full-text search found.
public struct SearchResult: Sendable, Hashable {
  /// The entity type.
  public let entityType: String
  /// The record.
  public let uuid: UUID
  /// The matching text, with `[` and `]` around the words.
  public let snippet: String
  /// The rank (BM25): a smaller value is a better match.
  public let rank: Double
}

/// Full-text search over the entities whose schema declares a search table.
public struct Search {
  let connection: Connection
  let entities: Entities

  /// Creates a search over a connection. It is valid as long as the connection.
  /// - Parameter entities: the entities to search when ``find(_:in:limit:)`` names no entity.
  public init(_ connection: Connection, entities: Entities) {
    (self.connection, self.entities) = (connection, entities)
  }

  /// Finds records that contain all words. The last word may be a prefix.
  /// - Parameter entity: the entity to search; `nil` for all.
  /// - Throws: ``VaultError`` with `refused` if the text has no word, or the entity has no search table.
  public func find(_ text: String, in entity: Entity? = nil, limit: Int = 50) throws -> [SearchResult] {
    guard let pattern = Self.pattern(text) else {
      throw VaultError(.refused, "the search text has no word", hint: "give a word or a prefix")
    }
    if let entity, entity.searchTable == nil {
      throw VaultError(
        .refused, "\(entity.type) has no full-text index",
        hint: "searchable: \(entities.all.filter { $0.searchTable != nil }.map(\.type).joined(separator: ", "))")
    }
    var results: [SearchResult] = []
    for candidate in entity.map({ [$0] }) ?? entities.all {
      guard let table = candidate.searchTable else { continue }
      results += try find(pattern, table, candidate, limit)
    }
    return Array(results.sorted { ($0.rank, $0.uuid.sqlText) < ($1.rank, $1.uuid.sqlText) }.prefix(limit))
  }

  private func find(_ pattern: String, _ table: String, _ entity: Entity, _ limit: Int) throws -> [SearchResult] {
    let condition: SQL = entity.marksDeletion ? " AND record.isDeleted = 0" : ""
    return try connection.fetchRows(
      """
      SELECT record.uuid, snippet(\(identifier: table), -1, '[', ']', '...', 12), bm25(\(identifier: table))
      FROM \(identifier: table)
      JOIN \(identifier: entity.table.name) AS record ON record.\(identifier: entity.key) = \(identifier: table).rowid
      WHERE \(identifier: table) MATCH \(pattern)\(condition)
      ORDER BY bm25(\(identifier: table)) LIMIT \(limit)
      """, as: UUID.self, String.self, Double.self
    ).map { SearchResult(entityType: entity.type, uuid: $0.0, snippet: $0.1, rank: $0.2) }
  }

  /// Returns each word quoted, so that no character has a meaning in FTS5's query language; `nil` without a word.
  static func pattern(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace).map { $0.filter { $0 != "\"" && $0 != "\0" } }.filter {
      word in
      word.unicodeScalars.contains { $0.properties.isAlphabetic || $0.properties.numericType != nil }
    }
    guard !words.isEmpty else { return nil }
    return words.map { "\"\($0)\"" }.joined(separator: " ") + "*"
  }
}
