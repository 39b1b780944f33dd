import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// A row of the conflict table that is not resolved.
package struct OpenConflict: Sendable {
  package let id: String
  package let entityType: String
  package let entityId: Int64
  package let entityUuid: String
  package let kind: ConflictKind
  package let fields: [String]
  package let base: RecordState?
  package let remote: RecordState?

  /// Returns the open conflict of a record; `nil` if it has no open conflict.
  package static func find(of record: StoredRecord, _ type: String, in connection: Connection) throws -> OpenConflict? {
    try connection.fetchOne(
      """
      SELECT conflictId FROM OfflineConflictResolution
      WHERE entityId = \(record.key) AND entityType = \(type) AND resolvedAt IS NULL
      """, as: String.self
    ).map { try find($0, in: connection) }
  }

  /// - Throws: ``VaultError`` with `noSuchRecord`.
  package static func find(_ id: String, in connection: Connection) throws -> OpenConflict {
    var found: OpenConflict?
    let query: SQL = """
      SELECT conflictId, entityType, entityId, entityUuid, conflictType, fields, base, remoteVersion
      FROM OfflineConflictResolution WHERE conflictId = \(id) AND resolvedAt IS NULL
      """
    try connection.forEach(query) { row in
      let base: String? = try row.decode(at: 6)
      let remote: String? = try row.decode(at: 7)
      var fields: [String] = []
      if case .array(let names) = try SyncValue(parsing: try row.decode(String.self, at: 5)) {
        for case .text(let name) in names { fields.append(name) }
      }
      found = OpenConflict(
        id: try row.decode(at: 0), entityType: try row.decode(at: 1), entityId: try row.decode(at: 2),
        entityUuid: try row.decode(at: 3), kind: ConflictKind(rawValue: try row.decode(at: 4)) ?? .concurrentEdit,
        fields: fields, base: try base.map(RecordVersion.state), remote: try remote.map(RecordVersion.state))
    }
    guard let found else {
      throw VaultError(
        .noSuchRecord, "no open conflict \(id)", remedy: .showConflicts)
    }
    return found
  }
}
