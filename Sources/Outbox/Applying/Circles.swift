import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Records that reference each other in a cycle: each waits for another one.
extension RemoteChanges {
  /// A version in the inbox, and its references to records that the device does not have.
  struct Waiting {
    let remote: RemoteRecord
    let table: RecordTable
    let missing: [Dependency]
  }

  /// The most versions that a search for a cycle looks at, so that the transaction stays short.
  private static let longestSearch = 200

  /// Applies the records of a cycle. A record with nullable references is stored without them, one version older than
  /// the version in the inbox. A record of which the device has an earlier version keeps the references of that version. The
  /// inbox keeps the complete version, which is applied when the referenced records exist.
  func breakCircle(through last: RemoteRecord, counts: inout ApplyCounts) throws {
    for member in try circle(through: last) {
      let record = try member.table.find(member.remote.entityUuid, in: connection)
      let isStored = try record.map { try storePart(of: member, over: $0) } ?? storePart(of: member)
      if isStored { return try admitWaiting(for: member.remote.entityUuid, counts: &counts) }
    }
  }

  private func storePart(of member: Waiting) throws -> Bool {
    let (remote, table) = (member.remote, member.table)
    let columns = member.missing.compactMap(table.columnToLeaveOut)
    guard columns.count == member.missing.count else { return false }
    var state = remote.state
    for column in columns { state.fields[column] = .null }
    state.syncVersion -= 1
    return try storing(remote, table) {
      try table.insert(
        remote.entityUuid, state,
        .init(serverId: remote.serverId, createdAt: remote.createdAt, lastSyncedAt: serverNow), in: connection)
    }
  }

  /// Another record of the cycle may reference a UNIQUE value that only the newer version has.
  private func storePart(of member: Waiting, over record: StoredRecord) throws -> Bool {
    let (remote, table) = (member.remote, member.table)
    guard !record.isDirty, !record.state.isDeleted, !remote.state.isDeleted,
      remote.state.syncVersion > record.state.syncVersion
    else { return false }
    var state = remote.state
    for column in member.missing.flatMap(\.columns) { state.fields[column] = record.state.fields[column] }
    guard !changedFields(from: record.state.fields, to: state.fields).isEmpty else { return false }
    state.syncVersion = max(record.state.syncVersion, remote.state.syncVersion - 1)
    return try storing(remote, table) {
      try table.update(
        record.key, from: record.state, to: state, .init(serverId: remote.serverId, lastSyncedAt: serverNow),
        in: connection)
    }
  }

  // MARK: Finding a cycle

  /// Returns the versions in the inbox that form a cycle with a record; empty by default.
  private func circle(through last: RemoteRecord) throws -> [Waiting] {
    let start = RecordIdentity(entityType: last.entityType, entityUuid: last.entityUuid)
    var found: [RecordIdentity: Waiting] = [:]
    /// For each version, the one that references it and was found first.
    var referring: [RecordIdentity: RecordIdentity] = [:]
    var open = [start]
    while let next = open.popLast(), found.count < Self.longestSearch {
      guard found[next] == nil, let member = try waiting(next) else { continue }
      found[next] = member
      for parent in try parents(of: member) {
        if parent == start {
          var (path, place) = ([member], next)
          while let child = referring[place], let member = found[child] {
            path.append(member)
            place = child
          }
          return path
        }
        if referring[parent] == nil { referring[parent] = next }
        open.append(parent)
      }
    }
    return []
  }

  /// Returns a version in the inbox that waits for other records; `nil` without one.
  func waiting(_ name: RecordIdentity) throws -> Waiting? {
    let json = try connection.fetchOne(
      """
      SELECT record FROM SyncInbox WHERE entityType = \(name.entityType) AND entityUuid = \(name.entityUuid)
        AND reason IN ('parent_missing', 'refused')
      """, as: String.self)
    guard let json, let table = catalog.tables[name.entityType] else { return nil }
    let remote = try RemoteRecord(json: Array(json.utf8))
    let missing = try table.keys.filter { try table.lacksParent(by: $0, in: remote.state.fields, connection) }
    return Waiting(remote: remote, table: table, missing: missing)
  }

  /// Returns the records that a version references and the device does not have, as far as their names are known.
  func parents(of member: Waiting) throws -> [RecordIdentity] {
    let fields = member.remote.state.fields
    return try member.missing.compactMap { key in
      let type = key.parent.type
      guard key.columns.count > 1 else {
        guard case .text(let uuid)? = fields[key.columns[0]] else { return nil }
        return RecordIdentity(entityType: type, entityUuid: uuid)
      }
      let versions = try connection.fetch("SELECT record FROM SyncInbox WHERE entityType = \(type)", as: String.self)
      for json in versions {
        let parent = try RemoteRecord(json: Array(json.utf8))
        if key.key.columns.allSatisfy({ parent.state.fields[$0.to] == fields[$0.from] }) {
          return RecordIdentity(entityType: type, entityUuid: parent.entityUuid)
        }
      }
      return nil
    }
  }
}
