import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Why the records of a project leave the device.
package enum LeavingCause: Hashable, Sendable {
  /// The device follows other projects.
  case unfollowed
  /// The user is no longer a member.
  case lost
  /// The operator of the server has revoked the device, and the vault allows the removal of all records that the server has.
  case revoked
}

/// Why a record of a project stays on the device although the project leaves it.
public enum KeptReason: String, CaseIterable, Hashable, Sendable {
  /// The record has a change that the server has not accepted.
  case unsentChange
  /// The record has an open conflict.
  case conflict
  /// The record has a file that the server does not have.
  case unsentFile
  /// A record that stays references the record.
  case referenced
}

/// Records of one entity that stay on the device although their project leaves it.
public struct KeptRecords: Hashable, Sendable {
  /// The entity.
  public let entityType: String
  /// Why they stay.
  public let reason: KeptReason
  /// The number of records.
  public var count: Int

  package init(entityType: String, reason: KeptReason, count: Int) {
    (self.entityType, self.reason, self.count) = (entityType, reason, count)
  }
}

/// The records of projects that leave the device. Read without changes; later transactions remove the records in parts.
///
/// No transaction relies on an earlier one. After a crash the next round reads another plan of the remaining records.
package struct LeavingPlan: Equatable, Sendable {
  /// The records without unsent changes or files, dependents first as far as the tables tell. Some may have to stay because a
  /// remaining record references them.
  package var records: [LocalIdentity] = []
  /// The other records by entity and reason, ordered.
  package var kept: [KeptRecords] = []
  /// Versions of the inbox that belong to these projects.
  package var versions: [RecordIdentity] = []
  /// The number of the newest operation.
  package var lastOperation: Int64 = 0
  /// The projects that the device follows although its user has lost them.
  package var followed: [String] = []

  package init() {}
}

/// Reads the records of projects that leave the device.
package struct LeavingReader {
  private let catalog: SyncCatalog
  private let connection: Connection

  package init(_ catalog: SyncCatalog, in connection: Connection) {
    (self.catalog, self.connection) = (catalog, connection)
  }

  /// Returns the records to remove and those that stay.
  package func plan(_ cause: LeavingCause) throws -> LeavingPlan {
    var plan = LeavingPlan()
    let leaving: [(table: RecordTable, keys: [Int64])]
    if cause == .revoked {
      guard try SyncSettings.value(.removeWhenRevoked, in: connection) == "true" else { return plan }
      leaving = try recordsOfServer()
    } else {
      let projects = try projects(cause)
      if projects.isEmpty { return plan }
      if cause == .lost {
        plan.followed = try SyncSettings.scopes(in: connection).filter(projects.contains)
        plan.versions = try versions(of: projects)
      }
      leaving = try records(of: projects)
    }
    plan.lastOperation =
      try connection.fetchOne("SELECT coalesce(max(queueNumber), 0) FROM OfflineSyncQueue", as: Int64.self) ?? 0
    let unsent = try unsent()
    let remembered = try remembered()
    var kept: [KeptRecords] = []
    for (table, keys) in leaving {
      let entity = table.entity
      let files = try unsentFiles(of: entity)
      let references = remembered.isEmpty ? [] : try self.keys(of: entity, among: remembered)
      for key in keys {
        let record = LocalIdentity(entity.type, key)
        let reason =
          unsent[record] ?? (files.contains(key) ? .unsentFile : references.contains(key) ? .referenced : nil)
        guard let reason else {
          plan.records.append(record)
          continue
        }
        kept.add(1, of: entity.type, reason)
      }
    }
    plan.kept = kept.ordered
    return plan
  }

  /// Returns the UUIDs of the projects that leave the device.
  func projects(_ cause: LeavingCause) throws -> Set<String> {
    switch cause {
    case .lost: return Set(try SyncSettings.lostProjects(in: connection))
    case .revoked: return []
    case .unfollowed:
      guard let entity = catalog.tables[ProjectPaths.projectType]?.entity,
        try !SyncSettings.scopes(in: connection).isEmpty
      else { return [] }
      return Set(
        try connection.fetch(
          "SELECT uuid FROM \(identifier: entity.table.name) WHERE uuid NOT IN (SELECT entityUuid FROM SyncScope)",
          as: String.self))
    }
  }

  // MARK: The records of the projects

  /// Returns the local ids of the records that belong to some projects at the server, dependents before the records that they
  /// belong to as far as the tables tell.
  private func records(of projects: Set<String>) throws -> [(table: RecordTable, keys: [Int64])] {
    let lookUp = RecordProjects(catalog, in: connection)
    var found: [String: [Int64]] = [:]
    var reached: Set<LocalIdentity> = []
    var open: [(type: String, keys: [Int64])] = []
    func reach(_ type: String, _ keys: [Int64]) {
      let new = keys.filter { reached.insert(LocalIdentity(type, $0)).inserted }
      if new.isEmpty { return }
      found[type, default: []] += new
      open.append((type, new))
    }
    guard let root = catalog.tables[ProjectPaths.projectType]?.entity else { return [] }
    reach(root.type, try keys(of: root, among: projects))
    // The base tells where the server has a record, and its row may tell another place.
    var based: Set<LocalIdentity> = []
    for (type, key) in try connection.fetchRows(
      "SELECT entityType, entityId FROM SyncBase", as: String.self, Int64.self)
    where lookUp.references[type] != nil {
      let record = LocalIdentity(type, key)
      based.insert(record)
      if let project = try lookUp.project(of: record), projects.contains(project) { reach(type, [key]) }
    }
    while let (parent, parents) = open.popLast() {
      for (type, references) in lookUp.references.sorted(by: { $0.key < $1.key }) {
        guard let table = catalog.tables[type] else { continue }
        for (column, _) in references.filter({ $0.parent == parent }) {
          // The first reference with a project decides.
          let isCertain = references.count == 1
          reach(
            type,
            try rows(of: table, referring: column, to: parents).filter { key in
              let record = LocalIdentity(type, key)
              if reached.contains(record) || based.contains(record) { return false }
              return try isCertain || lookUp.project(of: record).map(projects.contains) == true
            })
        }
      }
    }
    return catalog.childrenFirst.compactMap { table in found[table.entity.type].map { (table, $0.reversed()) } }
  }

  /// Returns the local ids of all records that the server has, dependents first as far as the tables tell. Rows of the schema stay.
  private func recordsOfServer() throws -> [(table: RecordTable, keys: [Int64])] {
    try catalog.childrenFirst.map { table in
      let entity = table.entity
      return (
        table,
        try connection.fetch(
          "SELECT \(identifier: entity.key) FROM \(identifier: entity.table.name) WHERE syncVersion > 0 ORDER BY 1 DESC",
          as: Int64.self)
      )
    }
  }

  private func rows(of table: RecordTable, referring column: String, to parents: [Int64]) throws -> [Int64] {
    guard let reference = table.columns.first(where: { $0.name == column })?.reference,
      let parent = catalog.tables[reference.entityType]?.entity
    else { return [] }
    let list = "[" + parents.map(String.init).joined(separator: ",") + "]"
    // Without an index on the column, this reads the child's rows once and not once for each parent.
    return try connection.fetch(
      """
      SELECT \(identifier: table.entity.key) FROM \(identifier: table.entity.table.name)
      WHERE \(identifier: column) IN (
        SELECT parent.\(identifier: reference.key) FROM json_each(\(list)) AS above
        CROSS JOIN \(identifier: parent.table.name) AS parent ON parent.\(identifier: parent.key) = above.value)
      ORDER BY 1
      """, as: Int64.self)
  }

  private func keys(of entity: Entity, among uuids: Set<String>) throws -> [Int64] {
    let list = SyncValue.array(uuids.sorted().map { .text($0) }).json
    return try connection.fetch(
      """
      SELECT record.\(identifier: entity.key) FROM json_each(\(list)) AS wanted
      CROSS JOIN \(identifier: entity.table.name) AS record ON record.uuid = wanted.value
      """, as: Int64.self)
  }

  /// Returns the versions of the inbox that belong to some projects.
  private func versions(of projects: Set<String>) throws -> [RecordIdentity] {
    var versions: [RecordIdentity: SyncObject] = [:]
    for json in try connection.fetch("SELECT record FROM SyncInbox", as: String.self) {
      let remote = try RemoteRecord(json: Array(json.utf8))
      versions[RecordIdentity(entityType: remote.entityType, entityUuid: remote.entityUuid)] = remote.state.fields
    }
    if versions.isEmpty { return [] }
    let lookUp = RecordProjects(catalog, in: connection)
    return try versions.filter { version, fields in
      let project =
        version.entityType == ProjectPaths.projectType
        ? version.entityUuid
        : try lookUp.project(of: version.entityType, fields) {
          versions[RecordIdentity(entityType: $0, entityUuid: $1)]
        }
      return project.map(projects.contains) == true
    }.keys.sorted { ($0.entityType, $0.entityUuid) < ($1.entityType, $1.entityUuid) }
  }

  // MARK: The records that stay

  /// Returns the records with operations that are not acknowledged.
  private func unsent() throws -> [LocalIdentity: KeptReason] {
    var reasons: [LocalIdentity: KeptReason] = [:]
    // One search for each partial index, without acknowledged operations.
    for hasPayload: SQL in ["payload IS NULL", "payload IS NOT NULL"] {
      for (type, key, isConflict) in try connection.fetchRows(
        """
        SELECT entityType, entityId, status = 'conflict' FROM OfflineSyncQueue
        WHERE \(hasPayload) AND completedAt IS NULL
        """, as: String.self, Int64.self, Bool.self)
      {
        let record = LocalIdentity(type, key)
        if reasons[record] != .conflict { reasons[record] = isConflict ? .conflict : .unsentChange }
      }
    }
    return reasons
  }

  /// Returns the UUIDs in bases and in the remote versions of open conflicts, because the user may return to these versions.
  func remembered() throws -> Set<String> {
    Set(
      try connection.fetch(
        """
        SELECT field.value FROM SyncBase JOIN json_each(SyncBase.fields) AS field
        WHERE field.type = 'text' AND length(field.value) = 36
        UNION SELECT field.value FROM OfflineConflictResolution AS conflict
          JOIN json_each(conflict.remoteVersion) AS field
        WHERE conflict.resolvedAt IS NULL AND field.type = 'text' AND length(field.value) = 36
        """, as: String.self))
  }

  private func unsentFiles(of entity: Entity) throws -> Set<Int64> {
    guard AttachmentEntity(entity) != nil else { return [] }
    return Set(
      try connection.fetch(
        """
        SELECT \(identifier: entity.key) FROM AttachmentContent
        JOIN \(identifier: entity.table.name) USING (contentUuid) WHERE \(raw: LeavingReader.isUnsentFile)
        """, as: Int64.self))
  }

  /// The condition that a file of a content exists on this device and not at the server.
  static let isUnsentFile = """
    (full = 'here' AND serverHasFull = 0 OR thumbnail = 'here' AND serverHasThumbnail = 0)
    """
}

extension [KeptRecords] {
  mutating func add(_ count: Int, of type: String, _ reason: KeptReason) {
    if let index = firstIndex(where: { $0.entityType == type && $0.reason == reason }) {
      self[index].count += count
    } else {
      append(KeptRecords(entityType: type, reason: reason, count: count))
    }
  }

  var ordered: [KeptRecords] { sorted { ($0.entityType, $0.reason.rawValue) < ($1.entityType, $1.reason.rawValue) } }
}

extension LeavingPlan {
  /// All records that stay, after a pass that removed none of ``records``.
  package var remaining: [KeptRecords] {
    var all = kept
    for record in records { all.add(1, of: record.type, .referenced) }
    return all.ordered
  }
}
