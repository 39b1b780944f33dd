import CipherSQL
import SyncModel

/// Records that reference each other in a cycle: each waits for another one.
extension RemoteChanges {
  /// Applies the records of a cycle. A record with a nullable reference is stored without it, one version older than
  /// the version in the inbox. The inbox keeps the complete version, which is applied when the referenced record
  /// exists.
  func breakCircle(through last: RemoteRecord, counts: inout ApplyCounts) throws {
    for (remote, waitsFor) in try circle(through: last) {
      guard let table = catalog.tables[remote.entityType], try table.find(remote.entityUuid, in: connection) == nil
      else { continue }
      let columns = table.columns.filter { column in
        column.reference != nil && remote.state.fields[column.name] == .text(waitsFor)
      }
      guard columns.allSatisfy({ !$0.column.isNotNull }) else { continue }
      var state = remote.state
      for column in columns { state.fields[column.name] = .null }
      state.syncVersion -= 1
      let isStored = try storing(remote, table) {
        try table.insert(
          remote.entityUuid, state,
          .init(serverId: remote.serverId, createdAt: remote.createdAt, lastSyncedAt: serverNow),
          references: references, in: connection)
      }
      if isStored { return try admitWaiting(for: remote.entityUuid, counts: &counts) }
    }
  }

  /// Returns the versions in the inbox that form a cycle with a record; empty by default.
  private func circle(through last: RemoteRecord) throws -> [(remote: RemoteRecord, waitsFor: String)] {
    var members: [(RemoteRecord, String)] = []
    var seen: Set<String> = []
    var (type, uuid) = (last.entityType, last.entityUuid)
    while seen.insert(uuid).inserted {
      let kept = try connection.fetchRows(
        """
        SELECT record, waitsFor FROM SyncInbox
        WHERE entityType = \(type) AND entityUuid = \(uuid) AND reason = 'parent_missing'
        """, as: String.self, String.self
      ).first
      guard let (json, waitsFor) = kept, let table = catalog.tables[type] else { return [] }
      let remote = try RemoteRecord(json: Array(json.utf8))
      let column = table.columns.first { $0.reference != nil && remote.state.fields[$0.name] == .text(waitsFor) }
      guard let reference = column?.reference else { return [] }
      members.append((remote, waitsFor))
      (type, uuid) = (reference.entityType, waitsFor)
    }
    return uuid == last.entityUuid ? members : []
  }
}
