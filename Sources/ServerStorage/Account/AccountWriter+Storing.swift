import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// Storing versions of records.
extension AccountWriter {
  package func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, formerId: Int64?,
    computing: [String], serviceFields: Set<String>?, at time: Int64
  ) throws -> ServerRecord {
    try store(
      name, over: previous, state, createdAt: createdAt, formerId: formerId, computing: computing,
      serviceFields: serviceFields, at: time, checksReferences: true)
  }

  /// - Parameter checksReferences: `false` for values that follow a change of the referenced record.
  func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, formerId: Int64? = nil,
    computing: [String], serviceFields: Set<String>?, at time: Int64, checksReferences: Bool
  ) throws -> ServerRecord {
    guard let plan = map.plans[name.entityType] else {
      throw StorageRefusal.invalid(field: "entityType", message: "unknown entity")
    }
    let stored = try row(name)
    let createdAt = previous?.createdAt ?? createdAt
    var state = state
    state.syncVersion = (previous?.version ?? self.state.header.forgottenVersion) + 1
    // It is assigned once no rule refuses the record.
    let upcomingId = try upcomingServerId(name.entityType)
    let serverId = try previous?.serverId ?? freeServerId(formerId, of: name.entityType) ?? upcomingId
    var version = SchemaChecker.Version(
      name: name, serverId: serverId, state: state, createdAt: createdAt, storedAt: time, referenced: [:],
      computing: previous == nil ? [] : computing)
    var row = try check(&version, over: previous, stored, plan, checksReferences: checksReferences)
    state = row.record.state
    if previous == nil, serverId == upcomingId { self.state.setServerId(serverId, of: name.entityType) }
    row.record = ServerRecord(
      name: name, serverId: serverId, sequence: nextSequence(), createdAt: createdAt, state: state,
      fieldVersions: Self.fieldVersions(from: previous, to: state),
      firstVersion: previous?.firstVersion ?? state.syncVersion, startVersions: startVersions(after: previous),
      deletedWith: state.isDeleted ? stored?.record.deletedWith : nil,
      serviceFields: serviceFields ?? previous?.serviceFields ?? [])
    row.isCascaded = state.isDeleted && stored?.isCascaded == true
    let left = try stored.map { try followers(of: $0, after: row) } ?? []
    if left.isEmpty {
      try set(row, over: stored, at: time)
    } else {
      try attempt {
        try set(row, over: stored, at: time)
        for follower in left { try follow(follower, row.record, at: time) }
      }
    }
    return row.record
  }

  /// Replaces a row, with its digest and its project.
  func set(_ row: RecordRow, over stored: RecordRow?, at time: Int64) throws {
    var row = row
    row.project = try project(of: row.record)
    row.digest = map.digest(of: row.record)
    row.storedAt = time
    try put(row, of: row.name, over: stored)
    if let stored, stored.project != row.project {
      // The dependents of a record that moved to another project move with it.
      addJob(.project, row.name, at: time)
      try workWithinRequest()
    }
  }

  /// Checks a version by the rules of the schema and by the other records.
  /// - Returns: a row with the state that the schema makes of it and its keys.
  func check(
    _ version: inout SchemaChecker.Version, over previous: ServerRecord?, _ stored: RecordRow?, _ plan: CheckPlan,
    checksReferences: Bool
  ) throws -> RecordRow {
    try resolveReferences(of: &version, over: previous, plan)
    var checked = try checkDefaults(of: version, plan)
    if let missing = try missingParent(in: checked, version, plan) {
      // A deletion keeps the values by which the record references others.
      guard version.state.isDeleted, let previous, leaveOut(missing, of: &version, over: previous) else {
        throw StorageRefusal.parentMissing(columns: try missingParents(in: checked, version, plan))
      }
      return try check(&version, over: previous, stored, plan, checksReferences: checksReferences)
    }
    let keys = RecordKeys(
      unique: checked.unique, released: try acquire(checked.unique, of: version, over: stored, plan),
      references: references(of: checked, plan))
    checked.fields = checked.fields.filter { plan.table.places[$0.name] != nil }
    var record = ServerRecord(
      name: version.name, serverId: version.serverId, sequence: 0, createdAt: version.createdAt, state: version.state,
      fieldVersions: [:], firstVersion: 0)
    record.state.fields = checked.fields
    let row = RecordRow(record: record, digest: "", storedAt: version.storedAt, keys: keys)
    if checksReferences, !version.state.isDeleted {
      try requireParents(of: row, stored, plan.references(toCheckIn: version.state, after: previous?.state))
    }
    return row
  }

  /// Returns the references of a version, with the content that it names.
  func references(of checked: SchemaChecker.Checked, _ plan: CheckPlan) -> [String: String] {
    var references = checked.references
    for reference in plan.references where reference.isByUUID {
      references[reference.name] = checked.fields.text(reference.name)
    }
    if plan.hasContent { references[EntityMap.contentReference] = checked.fields.text("contentUuid") }
    return references
  }

  /// Finds the values that columns reference, which travel as UUIDs.
  private func resolveReferences(
    of version: inout SchemaChecker.Version, over previous: ServerRecord?, _ plan: CheckPlan
  ) throws {
    version.referenced = [:]
    try load(
      plan.table.references(in: version.state.fields).map { RecordName($0.type, $0.uuid) })
    var missing: [String] = []
    for column in plan.table.references {
      guard let reference = column.reference, case .text(let uuid)? = version.state.fields[column.name] else {
        continue
      }
      if let value = try value(of: reference, uuid, in: version) {
        version.referenced[column.name] = value
        continue
      }
      guard version.state.isDeleted, let previous, let before = previous.state.fields[column.name],
        before != .text(uuid)
      else {
        missing.append(column.name)
        continue
      }
      version.state.fields[column.name] = before
      if case .text(let uuid) = before { version.referenced[column.name] = try value(of: reference, uuid, in: version) }
    }
    if !missing.isEmpty { throw StorageRefusal.parentMissing(columns: missing) }
  }

  /// Returns the value that a column stores for a reference.
  private func value(
    of reference: SharedColumn.Reference, _ uuid: String, in version: SchemaChecker.Version
  ) throws -> SQLArgument? {
    try map.value(of: reference, uuid) { name in
      if name == version.name { return (version.state.fields, version.serverId) }
      return try row(name).map { ($0.record.state.fields, $0.record.serverId) }
    }
  }

  /// Checks a version, and finds the records that its defaults reference.
  private func checkDefaults(of version: SchemaChecker.Version, _ plan: CheckPlan) throws -> SchemaChecker.Checked {
    var checked = try schema.withChecker { try $0.check(version) }
    for (column, value) in checked.defaults {
      guard let reference = plan.table.places[column].flatMap({ plan.table.columns[$0].reference }),
        let name = try record(with: value, under: reference)
      else { throw StorageRefusal.parentMissing(columns: [column]) }
      checked.fields[column] = .text(name.entityUuid)
    }
    return checked
  }

  /// Returns the record that has a value in the column that a reference names.
  func record(with value: SQLArgument, under reference: SharedColumn.Reference) throws -> RecordName? {
    let type = reference.entityType
    guard let entity = map.tables[type]?.entity else { return nil }
    switch value {
    case .integer(let number) where reference.key == entity.key:
      let id = AssignedId(entityType: type, serverId: number)
      return try rows.records(with: [id])[id]
    case .text(let uuid) where reference.key == "uuid":
      return try row(RecordName(type, uuid))?.name
    default:
      guard let key = map.plans[type]?.uniqueKeys.first(where: { $0.columns == [reference.key] && !$0.isPartial }),
        let text = KeyText.of([value], collations: key.collations)
      else { return nil }
      return try holder(UniqueValue(entityType: type, key: key.name, value: text))
    }
  }

  /// Returns the first reference of several columns whose values no record has.
  private func missingParent(
    in checked: SchemaChecker.Checked, _ version: SchemaChecker.Version, _ plan: CheckPlan
  ) throws -> CheckPlan.Reference? {
    try plan.references.first { try isMissing($0, checked, version) }
  }

  private func missingParents(
    in checked: SchemaChecker.Checked, _ version: SchemaChecker.Version, _ plan: CheckPlan
  ) throws -> [String] {
    var columns: [String] = []
    for reference in plan.references where try isMissing(reference, checked, version) {
      columns += reference.columns.filter { !columns.contains($0) }
    }
    return columns
  }

  private func isMissing(
    _ reference: CheckPlan.Reference, _ checked: SchemaChecker.Checked, _ version: SchemaChecker.Version
  ) throws -> Bool {
    guard let value = checked.references[reference.name], let key = reference.targetKey else { return false }
    let type = reference.dependency.parent.type
    if type == version.name.entityType, checked.unique[key] == value { return false }
    let holder = try holder(UniqueValue(entityType: type, key: key, value: value))
    return holder == nil || holder == version.name
  }

  /// Keeps the stored values of a reference.
  /// - Returns: `false` if the version has them already.
  private func leaveOut(
    _ reference: CheckPlan.Reference, of version: inout SchemaChecker.Version, over previous: ServerRecord
  ) -> Bool {
    let changed = reference.columns.filter { version.state.fields[$0] != previous.state.fields[$0] }
    for column in changed { version.state.fields[column] = previous.state.fields[column] }
    return !changed.isEmpty
  }

  private static func fieldVersions(from previous: ServerRecord?, to state: RecordState) -> [String: Int64] {
    guard let previous else { return [:] }
    var versions = previous.fieldVersions
    for member in state.fields.members where previous.state.fields[member.name] != member.value {
      versions[member.name] = state.syncVersion
    }
    if previous.state.isDeleted != state.isDeleted { versions[RecordState.deletionField] = state.syncVersion }
    return versions
  }

  /// Returns the start versions of a record that is about to change; `nil` for a new record.
  func startVersions(after previous: ServerRecord?) -> [Int: Int64] {
    let number = state.header.epochs.count - 1
    var versions = previous?.startVersions ?? [:]
    if number > 0, (previous?.sequence ?? 0) <= state.header.epochStart { versions[number] = previous?.version ?? 0 }
    return versions
  }

  /// Returns the project of a record, by the first of its references that leads to a project.
  func project(of record: ServerRecord) throws -> String? {
    if record.name.entityType == ProjectPaths.projectType { return record.name.entityUuid }
    for way in map.ways[record.name.entityType] ?? [] {
      guard case .text(let uuid)? = record.state.fields[way.column] else { continue }
      if let project = try row(RecordName(way.parent, uuid))?.project { return project }
    }
    return nil
  }
}

/// The server ids of new records.
extension AccountWriter {
  /// The number of ids that a new epoch leaves to records which the account has lost.
  private static let reservedIds: Int64 = 1_000_000

  /// Returns the server id that the next new record of an entity gets, above all earlier ones.
  func upcomingServerId(_ entityType: String) throws -> Int64 {
    if let last = state.changes.lastServerIds[entityType] { return last + 1 }
    if lastServerIds == nil { lastServerIds = try rows.lastServerIds() }
    return (lastServerIds?[entityType] ?? 0) + 1
  }

  func nextServerId(_ entityType: String) throws -> Int64 {
    let next = try upcomingServerId(entityType)
    state.setServerId(next, of: entityType)
    return next
  }

  /// Leaves out ids that the account may have assigned to records it has lost. Devices, and other programs, still know these records
  /// by them.
  func reserveServerIds() throws {
    for type in map.tables.keys { state.setServerId(try upcomingServerId(type) - 1 + Self.reservedIds, of: type) }
  }

  /// Returns the id that a record had before the account lost it, if the account has assigned such ids and no record has this one.
  func freeServerId(_ former: Int64?, of entityType: String) throws -> Int64? {
    guard let former, former > 0, former < (try upcomingServerId(entityType)) else { return nil }
    let isNew = state.changes.records.contains { name, change in
      name.entityType == entityType && change.new?.record.serverId == former
    }
    if isNew { return nil }
    let id = AssignedId(entityType: entityType, serverId: former)
    try loadServerIds([id])
    return loadedServerIds[id] == true ? nil : former
  }

  func loadServerIds(_ ids: [AssignedId]) throws {
    let unknown = ids.filter { loadedServerIds[$0] == nil }
    if unknown.isEmpty { return }
    let found = try rows.records(with: unknown)
    for id in unknown { loadedServerIds[id] = found[id] != nil }
  }
}

extension EntityMap {
  /// Returns the record digest that `WireFormat.md` defines.
  package func digest(of record: ServerRecord) -> String {
    RecordDigest(
      record.name.entityType, record.name.entityUuid, version: record.version, createdAt: record.createdAt,
      updatedAt: record.state.updatedAt, fields: record.state.fields,
      columns: tables[record.name.entityType]?.digestColumns ?? DigestColumns()
    ).digest
  }

  /// Returns the value that a column stores for a reference: the local id, the UUID, or another value of the referenced
  /// record. Server ids are local ids on a server. `nil` without such a record, and if it has no value.
  /// - Parameter find: returns the fields and the server id of a record.
  func value(
    of reference: SharedColumn.Reference, _ uuid: String,
    find: (RecordName) throws -> (fields: SyncObject, serverId: Int64)?
  ) throws -> SQLArgument? {
    guard let table = tables[reference.entityType],
      let target = try find(RecordName(reference.entityType, uuid))
    else { return nil }
    if reference.key == table.entity.key { return .integer(target.serverId) }
    if reference.key == "uuid" { return .text(uuid) }
    guard let place = table.places[reference.key], let value = target.fields[reference.key], value != .null else {
      return nil
    }
    let column = table.columns[place]
    if let further = column.reference, case .text(let uuid) = value {
      return try self.value(of: further, uuid, find: find)
    }
    return try column.argument(value)
  }
}

extension CheckPlan {
  /// Whether the records have contents.
  var hasContent: Bool { AttachmentEntity(table.entity) != nil }

  /// Returns the references that a version has for the first time.
  func references(toCheckIn state: RecordState, after previous: RecordState?) -> [Reference] {
    guard let previous, !previous.isDeleted else { return references }
    return references.filter { reference in
      reference.columns.contains { state.fields[$0] != previous.fields[$0] }
    }
  }
}
