import CipherSQL
import VaultStore
import SyncModel

/// Statement 6: all devices and the server agree on every record that they share.
struct AgreementCheck {
  let devices: [any WatchedDevice]
  let server: Connection
  /// The digests of the server.
  let digests: EntityDigests
  let state: StateOfRecord
  /// Records that an empty account had in place of the account. Within one epoch, no device learns that their ids have changed.
  var misplaced: Set<String> = []

  private static let allBuckets = Set(
    (0..<256).map { number in
      let text = String(number, radix: 16)
      return text.count == 1 ? "0" + text : text
    })

  func check() throws {
    for device in devices {
      let catalog = device.vault.syncCatalog
      for (type, table) in catalog.tables {
        try checkCascaded(device, table)
        let ours = try device.read { connection in
          try StoreDigests(catalog: catalog, connection: connection, columns: digests.columns).digests(of: table).whole
        }
        let summary = digests.entities[type]
        if summary?.digest == ours.digest || summary == nil && ours.count == 0 {
          try compareVersions(device, table)
          if let first = state.devices.first, first.name != device.name {
            try ContentCheck(first: first, state: state).check(device, table)
          }
          continue
        }
        try compare(device, table)
      }
      try checkInbox(device)
    }
  }

  /// Each device has the records that its user sees in the version of the server. It has no others, unless something waits for
  /// its user.
  /// - Parameter records: returns whether a device must have a record, and the records that it may have.
  func check(_ records: (any WatchedDevice) -> (mustHave: (_ uuid: String) -> Bool, mayHave: Set<String>)) throws {
    for device in devices {
      let (mustHave, mayHave) = records(device)
      let kept = try referenced(from: mayHave, on: device)
      let isDecided = try device.undecided() == 0
      for (type, table) in device.vault.syncCatalog.tables {
        let held = try contested(device, type)
        let name = table.entity.table.name
        var here = Dictionary(
          try device.read { connection in
            try connection.fetchRows(
              "SELECT uuid, syncVersion FROM \(identifier: name) WHERE isDeleted = 0 OR \(!isDecided)", as: String.self,
              Int64.self)
          }, uniquingKeysWith: { first, _ in first })
        let theirs = try server.fetchRows(
          """
          SELECT shadow.entityUuid, record.syncVersion FROM ServerRecord AS shadow
          JOIN \(identifier: name) AS record ON record.uuid = shadow.entityUuid
          WHERE shadow.entityType = \(type) AND shadow.isDeleted = 0 ORDER BY shadow.entityUuid
          """, as: String.self, Int64.self)
        for (uuid, version) in theirs where mustHave(uuid) && !held.contains(uuid) {
          let own = here[uuid]
          if own == version || own != nil && !isDecided { continue }
          throw Violation(
            6,
            ["\(device.name) has \(own.map { "version \($0)" } ?? "nothing") of \(type) \(uuid), which its user sees"]
              + (try state.lines(type, uuid)) + (try waiting(device)))
        }
        here = here.filter { !kept.contains($0.key) }
        guard isDecided, let uuid = here.keys.sorted().first else { continue }
        throw Violation(
          11, ["\(device.name) keeps \(type) \(uuid), which its user does not see"] + (try state.lines(type, uuid)))
      }
    }
  }

  /// Returns some records and those that they reference on a device, directly or through further records. A device keeps these, also in
  /// an older version than the server's, which may name another project.
  private func referenced(from uuids: Set<String>, on device: any WatchedDevice) throws -> Set<String> {
    let tables = device.vault.syncCatalog.tables
    let pairs = try device.read { connection in
      try tables.values.flatMap { table in
        try table.columns.flatMap { column -> [(String, String)] in
          guard let reference = column.reference, let parent = tables[reference.entityType]?.entity else { return [] }
          return try connection.fetchRows(
            """
            SELECT child.uuid, parent.uuid FROM \(identifier: table.entity.table.name) AS child
            JOIN \(identifier: parent.table.name) AS parent
              ON parent.\(identifier: reference.key) = child.\(identifier: column.name)
            """, as: String.self, String.self)
        }
      }
    }
    let parents = Dictionary(grouping: pairs, by: \.0)
    var reached = uuids
    var open = Array(uuids)
    while let uuid = open.popLast() {
      open += parents[uuid, default: []].map(\.1).filter { reached.insert($0).inserted }
    }
    return reached
  }

  private func compare(_ device: any WatchedDevice, _ table: RecordTable) throws {
    let type = table.entity.type
    let catalog = device.vault.syncCatalog
    let ours = try device.read { connection in
      try StoreDigests(catalog: catalog, connection: connection, columns: digests.columns)
        .records(of: table, in: Self.allBuckets)
    }
    var here = Dictionary(ours.map { ($0.entityUuid, $0.digest) }, uniquingKeysWith: { first, _ in first })
    var different: Set<String> = []
    let theirs = try server.fetchRows(
      "SELECT entityUuid, digest FROM ServerRecord WHERE entityType = \(type) AND isDeleted = 0", as: String.self,
      String.self)
    for (uuid, digest) in theirs where here.removeValue(forKey: uuid) != digest { different.insert(uuid) }
    different.formUnion(here.keys)
    different.subtract(try contested(device, type))
    guard !different.isEmpty else { return }
    throw Violation(
      6,
      try ["\(device.name) and the server differ about \(different.count) of \(type)"]
        + different.sorted().prefix(3).flatMap { try state.lines(type, $0) } + waiting(device))
  }

  /// The versions that the device cannot store, and the records that they wait for. The records of a cycle wait for each
  /// other.
  private func waiting(_ device: any WatchedDevice) throws -> [String] {
    try device.read { connection in
      try connection.fetch(
        """
        SELECT entityType || ' ' || entityUuid || ' waits for ' || coalesce(waitsFor, '') || ': ' || detail FROM SyncInbox
        ORDER BY entityUuid LIMIT 60
        """, as: String.self)
    }.map { "\(device.name): \($0)" } + (try linesOfHolders(device))
  }

  /// The states of the records whose UNIQUE values are in the way of versions.
  private func linesOfHolders(_ device: any WatchedDevice) throws -> [String] {
    let refused = try device.read { connection in
      try connection.fetchRows(
        "SELECT entityType, entityUuid, record FROM SyncInbox WHERE reason = 'refused' ORDER BY entityUuid LIMIT 4",
        as: String.self, String.self, String.self)
    }
    return try refused.flatMap { type, uuid, json in
      guard let table = device.vault.syncCatalog.tables[type] else { return [String]() }
      let fields = try RemoteRecord(json: Array(json.utf8)).state.fields
      let holders = try device.read { try table.holders(of: fields, besides: uuid, in: $0).map(\.uuid) }
      return try holders.flatMap { ["in the way of \(uuid): \(type) \($0)"] + (try state.lines(type, $0)) }
    }
  }

  /// Equal records have the versions and the ids of the server.
  private func compareVersions(_ device: any WatchedDevice, _ table: RecordTable) throws {
    let type = table.entity.type
    let theirs = Dictionary(
      try server.fetchRows(
        """
        SELECT shadow.entityUuid, 'version ' || record.syncVersion || ' under id ' || shadow.serverId
        FROM ServerRecord AS shadow
        JOIN \(identifier: table.entity.table.name) AS record ON record.uuid = shadow.entityUuid
        WHERE shadow.entityType = \(type) AND shadow.isDeleted = 0
        """, as: String.self, String.self), uniquingKeysWith: { first, _ in first })
    let ours = try device.read { connection in
      try connection.fetchRows(
        """
        SELECT uuid, 'version ' || syncVersion || ' under id ' || ifnull(serverId, 'none')
        FROM \(identifier: table.entity.table.name) WHERE isDeleted = 0 AND isDirty = 0
        """, as: String.self, String.self)
    }
    for (uuid, version) in ours where theirs[uuid] != version && !misplaced.contains(uuid) {
      throw Violation(
        6,
        [
          "\(device.name) has \(version) of \(type) \(uuid), and the server has \(theirs[uuid] ?? "none")"
        ] + (try state.lines(type, uuid)))
    }
  }

  /// The records that the user has to decide about, which are not shared yet.
  private func contested(_ device: any WatchedDevice, _ type: String) throws -> Set<String> {
    let uuids = try device.read { connection in
      try connection.fetch(
        """
        SELECT entityUuid FROM OfflineConflictResolution WHERE entityType = \(type) AND resolvedAt IS NULL
        """, as: String.self)
    }
    return Set(uuids).union(try heldBack(device))
  }

  /// The records of which the device cannot have the server's version before the user acts: versions whose UNIQUE value another record
  /// has that waits for the user, records whose sealed operation is blocked or that are in
  /// conflict, and the records that reference any of these.
  private func heldBack(_ device: any WatchedDevice) throws -> Set<String> {
    try device.read { connection in
      var held = Set(
        try connection.fetch(
          """
          SELECT entityUuid FROM OfflineSyncQueue
          WHERE completedAt IS NULL AND payload IS NOT NULL AND parkedBehind IS NOT NULL
          UNION ALL SELECT entityUuid FROM OfflineConflictResolution WHERE resolvedAt IS NULL
          """, as: String.self))
      let holders = try holdersOfWaiting(device, connection)
      let waiting = try missingParents(device, connection)
      while true {
        var more = waiting.filter { !held.contains($0.key) && !held.isDisjoint(with: $0.value) }.map(\.key)
        for (uuid, records) in holders where !held.contains(uuid) {
          if records.contains(where: { $0.awaitsUser || held.contains($0.uuid) }) { more.append(uuid) }
        }
        if more.isEmpty { return held }
        held.formUnion(more)
      }
    }
  }

  /// The records that versions in the inbox lack, by the UUID of the version. The inbox names one of them only, which may be
  /// in a cycle with the version, while another one waits for the user.
  private func missingParents(_ device: any WatchedDevice, _ connection: Connection) throws -> [String: Set<String>] {
    let waiting = try connection.fetchRows(
      "SELECT record, waitsFor FROM SyncInbox WHERE reason = 'parent_missing'", as: String.self, String.self)
    let catalog = device.vault.syncCatalog
    var missing: [String: Set<String>] = [:]
    for (json, waitsFor) in waiting {
      let remote = try RemoteRecord(json: Array(json.utf8))
      guard let table = catalog.tables[remote.entityType] else { continue }
      let fields = remote.state.fields
      var found = Set(try MissingParents(catalog: catalog, connection: connection).of([remote]).map(\.uuid))
      found.insert(waitsFor)
      let lacked = try table.keys.filter { try table.lacksParent(by: $0, in: fields, connection) }
      // The device may have the referenced record without its UNIQUE value, so that only the key shows what is missing.
      for key in lacked where key.columns.count == 1 {
        if case .text(let uuid)? = fields[key.columns[0]] { found.insert(uuid) }
      }
      if lacked.contains(where: { $0.columns.count > 1 }) {
        found.formUnion(try parents(of: fields, table, catalog, connection).map(\.uuid))
      }
      missing[remote.entityUuid] = found
    }
    return missing
  }

  /// The records whose values are in the way of versions in the inbox, by the UUID of the version. A version that lacks a
  /// record would be refused when that record arrives.
  private func holdersOfWaiting(
    _ device: any WatchedDevice, _ connection: Connection
  ) throws -> [String: [(uuid: String, awaitsUser: Bool)]] {
    let waiting = try connection.fetchRows(
      "SELECT entityType, entityUuid, record FROM SyncInbox WHERE reason IN ('refused', 'parent_missing')",
      as: String.self, String.self, String.self)
    var found: [String: [(uuid: String, awaitsUser: Bool)]] = [:]
    for (type, uuid, json) in waiting {
      guard let table = device.vault.syncCatalog.tables[type] else { continue }
      let fields = try RemoteRecord(json: Array(json.utf8)).state.fields
      // The values of a record in conflict may be in the way of its own version, because both are merged.
      let holders = try table.holders(of: fields, besides: uuid, in: connection)
      found[uuid] = try ([uuid] + holders.map(\.uuid)).map { ($0, try awaitsUser(table, $0, connection)) }
      // The row of a deleted record stays as long as another row references it.
      for holder in holders where holder.isDeleted {
        found[uuid]? += try referring(to: holder.uuid, table, device.vault.syncCatalog, connection)
      }
      found[uuid]? += try parents(of: fields, table, device.vault.syncCatalog, connection)
      // A record that the server refused may reference values that the version replaces.
      found[uuid]? += try referring(to: uuid, table, device.vault.syncCatalog, connection).filter(\.awaitsUser)
    }
    return found
  }

  /// The records that the foreign keys of several columns of a version reference at the server.
  private func parents(
    of fields: SyncObject, _ table: RecordTable, _ catalog: SyncCatalog, _ connection: Connection
  ) throws -> [(uuid: String, awaitsUser: Bool)] {
    try table.entity.table.foreignKeys.filter { $0.columns.count > 1 }.flatMap { key in
      var found: [(uuid: String, awaitsUser: Bool)] = []
      guard let type = catalog.entities.entity(ofTable: key.table)?.type, let parent = catalog.tables[type] else {
        return found
      }
      var conditions: [SQL] = ["1"]
      for pair in key.columns {
        guard let place = table.places[pair.from], table.columns[place].reference == nil, let value = fields[pair.from]
        else { return found }
        conditions.append("AND \(identifier: pair.to) = \(try table.columns[place].argument(value))")
      }
      let condition = conditions.dropFirst().reduce(conditions[0]) { "\($0) \($1)" }
      for uuid in try server.fetch("SELECT uuid FROM \(identifier: key.table) WHERE \(condition)", as: String.self) {
        found.append((uuid, try awaitsUser(parent, uuid, connection)))
      }
      return found
    }
  }

  /// The other records that reference a record, directly or through deleted records, whose rows stay as well.
  private func referring(
    to uuid: String, _ table: RecordTable, _ catalog: SyncCatalog, _ connection: Connection,
    after seen: Set<String> = []
  ) throws -> [(uuid: String, awaitsUser: Bool)] {
    guard !seen.contains(uuid) else { return [] }
    return try catalog.entities.dependencies(on: table.entity).flatMap { dependency in
      guard let child = catalog.tables[dependency.child.type] else { return [(uuid: String, awaitsUser: Bool)]() }
      return try connection.fetchRows(
        """
        SELECT child.uuid, child.isDeleted FROM \(identifier: table.entity.table.name) AS parent
        JOIN \(identifier: child.entity.table.name) AS child
          ON \(raw: dependency.isReferring(child: "child", parent: "parent"))
        WHERE parent.uuid = \(uuid) AND child.uuid <> parent.uuid
        """, as: String.self, Bool.self
      ).flatMap { other, isDeleted in
        [(other, try awaitsUser(child, other, connection))]
          + (isDeleted ? try referring(to: other, child, catalog, connection, after: seen.union([uuid])) : [])
      }
    }
  }

  /// Whether a record changes only after the user has acted: it has an open conflict, its operation has failed or is blocked, or it
  /// was deleted with such a record.
  private func awaitsUser(_ table: RecordTable, _ uuid: String, _ connection: Connection) throws -> Bool {
    let type = table.entity.type
    return try connection.fetchOne(
      """
      SELECT 1 FROM OfflineConflictResolution
      WHERE entityType = \(type) AND entityUuid = \(uuid) AND resolvedAt IS NULL
      UNION ALL SELECT 1 FROM OfflineSyncQueue
      WHERE entityType = \(type) AND entityUuid = \(uuid) AND completedAt IS NULL
        AND (parkedBehind IS NOT NULL OR status = 'failed')
      UNION ALL SELECT 1 FROM \(identifier: table.entity.table.name) AS record
      JOIN SyncCascade AS cascaded ON cascaded.entityId = record.\(identifier: table.entity.key)
      JOIN OfflineConflictResolution AS open ON open.entityType = cascaded.rootType AND open.entityId = cascaded.rootId
      WHERE record.uuid = \(uuid) AND cascaded.entityType = \(type) AND open.resolvedAt IS NULL
      UNION ALL SELECT 1 FROM \(identifier: table.entity.table.name) AS record
      JOIN SyncCascade AS cascaded ON cascaded.entityId = record.\(identifier: table.entity.key)
      JOIN OfflineSyncQueue AS operation
        ON operation.entityType = cascaded.rootType AND operation.entityId = cascaded.rootId
      WHERE record.uuid = \(uuid) AND cascaded.entityType = \(type) AND operation.completedAt IS NULL
        AND (operation.parkedBehind IS NOT NULL OR operation.status = 'failed')
      LIMIT 1
      """, as: Int.self) != nil
  }

  /// A record that a cascade deleted on the device and not at the server waits for the user, or for a deleted parent that does.
  private func checkCascaded(_ device: any WatchedDevice, _ table: RecordTable) throws {
    let (type, name) = (table.entity.type, table.entity.table.name)
    let live = Set(
      try server.fetch(
        "SELECT entityUuid FROM ServerRecord WHERE entityType = \(type) AND isDeleted = 0", as: String.self))
    let kept = try device.read { connection in
      try connection.fetch(
        """
        SELECT record.uuid FROM SyncCascade AS cascaded
        JOIN \(identifier: name) AS record ON record.\(identifier: table.entity.key) = cascaded.entityId
        WHERE cascaded.entityType = \(type) AND record.isDeleted = 1 AND record.isDirty = 0 AND NOT EXISTS (
          SELECT 1 FROM OfflineSyncQueue AS operation
          WHERE operation.entityType = cascaded.rootType AND operation.entityId = cascaded.rootId
            AND operation.completedAt IS NULL)
        ORDER BY record.uuid
        """, as: String.self
      ).filter { uuid in
        guard live.contains(uuid), let record = try table.find(uuid, in: connection),
          try !awaitsUser(table, uuid, connection)
        else { return false }
        let (parents, catalog) = (try table.parents(of: record.key, in: connection), device.vault.syncCatalog)
        return try !parents.contains {
          try $0.key.cascades && catalog.isDeleted($0.id, of: $0.key.parent, in: connection)
        }
          && !table.holders(of: record.state.fields, besides: uuid, in: connection).contains {
            try awaitsUser(table, $0.uuid, connection)
          }
      }
    }
    guard let uuid = kept.first else { return }
    throw Violation(
      6,
      ["\(device.name) keeps \(type) \(uuid) deleted with another record, and the server has it"]
        + (try state.lines(type, uuid)))
  }

  private func checkInbox(_ device: any WatchedDevice) throws {
    let kept = try device.read { connection in
      try connection.fetchRows(
        "SELECT entityType, entityUuid, reason || ': ' || coalesce(detail, '') FROM SyncInbox", as: String.self,
        String.self, String.self)
    }
    let held = try heldBack(device)
    for (type, uuid, reason) in kept where !held.contains(uuid) {
      throw Violation(
        6, ["\(device.name) keeps \(type) \(uuid) in its inbox: \(reason)"] + (try state.lines(type, uuid)))
    }
  }
}
