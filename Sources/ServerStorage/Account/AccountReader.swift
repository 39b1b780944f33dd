import CipherSQL
import SyncModel

/// One state of an account.
package struct AccountReader: RecordReading {
  let rows: any AccountRows
  let map: EntityMap

  /// Creates a reader over the rows of a transaction.
  package init(_ rows: any AccountRows, _ schema: AccountSchema) { (self.rows, map) = (rows, schema.map) }

  package var epochs: EpochHistory { get throws { EpochHistory(epochs: try rows.header().epochs) } }
  package var lastSequence: Int64 { get throws { try rows.header().lastSequence } }
  package var horizon: Int64 { get throws { try rows.header().horizon } }
  package var largestStoredTime: Int64? { get throws { try rows.largestStoredTime() } }

  package var deviceIds: [String] { get throws { try rows.deviceIds() } }

  package func record(_ name: RecordName) throws -> ServerRecord? {
    try rows.records([name]).first.flatMap { map.completed($0.record) }
  }

  package func located(_ name: RecordName) throws -> LocatedRecord? {
    guard let row = try rows.records([name]).first, let record = map.completed(row.record) else { return nil }
    return LocatedRecord(record: record, project: row.project)
  }

  package func memberships(of viewer: Viewer) throws -> [Membership] {
    try map.effective(try rows.memberships(of: viewer.holders), of: viewer) { try rows.records([$0]).first }
  }

  package func earlierChanges(
    of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int
  ) throws -> ChangePage {
    let page = try rows.changes(of: projects, in: numbers, limit: limit, weight: Self.pageWeight)
    return try self.page(page, end: numbers.upperBound) { _ in 1 }
  }

  package func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64? {
    try epochs.sharedVersion(of: record.version, startVersions: record.startVersions, with: epoch)
  }

  package func isDeleted(_ name: RecordName) throws -> Bool? { try rows.records([name]).first?.record.state.isDeleted }

  package var hasJobs: Bool { get throws { try !rows.jobs().isEmpty } }

  /// The approximate size in bytes after which a page ends early: the limit of a push.
  private static let pageWeight = 8 << 20

  package func changes(
    after sequence: Int64?, limit: Int, projects: Set<String>?, counted: Int?
  ) throws -> ChangePage {
    let selection = PageSelection(
      after: sequence ?? 0, projects: projects, onlyLive: sequence == nil, withSeeds: sequence == nil)
    let page = try rows.changes(selection, limit: limit, weight: Self.pageWeight)
    return try self.page(page, end: lastSequence) { end in
      // The following pages have deletions as well.
      try counted.map { $0 - page.rows.count } ?? rows.count(after: end, projects: projects)
    }
  }

  /// - Parameters:
  ///   - end: the number with which the last page ends.
  ///   - remaining: returns the number of changes after a number.
  private func page(_ page: ChangeRows, end: Int64, remaining: (Int64) throws -> Int) throws -> ChangePage {
    let deleted = try willBeDeleted(page.rows)
    // A record that will be deleted comes under a higher number then.
    let records = page.rows.compactMap { deleted.contains($0.name) ? nil : map.completed($0) }
    guard !page.isLast, let last = page.rows.last else { return ChangePage(records: records, end: end, remaining: 0) }
    let end = last.sequence
    return ChangePage(records: records, end: end, remaining: max(1, try remaining(end)))
  }

  package func hasChange(after sequence: Int64, projects: Set<String>?) throws -> Bool {
    guard try lastSequence > sequence else { return false }
    return try projects == nil
      || !rows.changes(PageSelection(after: sequence, projects: projects), limit: 1, weight: 1).rows.isEmpty
  }

  /// Returns the records among some that a job will delete.
  private func willBeDeleted(_ some: [ChangedRecord]) throws -> Set<RecordName> {
    let jobs = try rows.jobs()
    guard !jobs.isEmpty else { return [] }
    let graph = try graph(of: some.map(\.name), jobs)
    return Set(
      graph.pendingChanges().compactMap { name, change in
        if case .delete = change { return name }
        return nil
      })
  }

  package func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary] {
    var sums: [String: DigestSum] = [:]
    for (name, sum) in try rows.buckets(of: nil, projects: projects.map { $0.union([""]) })
    where map.tables[name.entityType] != nil {
      sums[name.entityType, default: DigestSum()].add(sum)
    }
    return sums.filter { $0.value != DigestSum() }.mapValues(\.summary)
  }

  package func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary] {
    var sums: [String: DigestSum] = [:]
    for (name, sum) in try rows.buckets(of: entityType, projects: projects.map { $0.union([""]) }) {
      sums[name.bucket, default: DigestSum()].add(sum)
    }
    return sums.filter { $0.value != DigestSum() }.mapValues(\.summary)
  }

  package func recordDigests(
    of entityType: String, buckets: [String], projects: Set<String>?
  ) throws -> [RecordDigest] {
    guard map.tables[entityType] != nil else { return [] }
    return try rows.recordDigests(of: entityType, buckets: buckets, projects: projects)
      .sorted { $0.entityUuid < $1.entityUuid }
  }

  package func contentsInUse(among contents: [String]) throws -> Set<String> {
    try map.attachments.reduce(into: []) { used, attachment in
      used.formUnion(
        try rows.targets(of: attachment.entity.type, reference: EntityMap.contentReference, among: contents))
    }
  }

  package func projects(of content: String) throws -> Set<String?> {
    try map.attachments.reduce(into: []) { projects, attachment in
      projects.formUnion(try rows.records(names(of: content, attachment.entity.type)).map(\.project))
    }
  }

  /// Returns the records of an entity that reference a content.
  private func names(of content: String, _ type: String) throws -> [RecordName] {
    let reference = ReferenceValue(entityType: type, reference: EntityMap.contentReference, target: content)
    return try rows.dependents(reference, after: nil, limit: .max).map { RecordName(type, $0) }
  }

  package func claims(on content: String) throws -> [ContentClaim] {
    try map.attachments.compactMap { attachment in
      let names = try names(of: content, attachment.entity.type)
      let oldest = try rows.records(names).min { $0.record.serverId < $1.record.serverId }
      return oldest.map { ContentClaim($0.record.state.fields) }
    }
  }
}

/// The data of a content's record about its files.
public struct ContentClaim: Equatable, Sendable {
  /// The key of the file, if it is encrypted.
  public var key: [UInt8]
  /// SHA-256 of the content that is not encrypted, in hexadecimal digits; `nil` where the record has no digest.
  public var digest: String?
  /// SHA-256 of the thumbnail that is not encrypted; `nil` where the record has no digest.
  public var thumbnailDigest: String?

  /// Creates a claim.
  public init(key: [UInt8], digest: String?, thumbnailDigest: String? = nil) {
    (self.key, self.digest, self.thumbnailDigest) = (key, digest, thumbnailDigest)
  }
}

extension ContentClaim {
  /// Reads the data of a record about its files. Values of another type are passed over, as the triggers do.
  fileprivate init(_ fields: SyncObject) {
    self.init(
      key: fields.text("contentKey").flatMap { Base64.bytes($0.utf8) } ?? [], digest: fields.text("contentDigest"),
      thumbnailDigest: fields.text("thumbnailDigest"))
  }
}

extension EntityMap {
  /// Returns memberships of a user as they take effect: while the record of the user is deleted, memberships by it have ended.
  func effective(
    _ memberships: [Membership], of viewer: Viewer, _ row: (RecordName) throws -> RecordRow?
  ) rethrows -> [Membership] {
    guard let uuid = viewer.record,
      let record = try userTypes.compactMap({ try row(RecordName($0, uuid))?.record }).first(where: \.state.isDeleted)
    else { return memberships }
    let holder = Membership.holder(record: uuid)
    return memberships.map { $0.key.holder == holder ? $0.withoutHolder(since: record.sequence) : $0 }
  }

  /// The name under which the content of a record is among its references. No column has it.
  static let contentReference = ",content"

  /// Returns a row with all fields and references of its entity; `nil` if the schemas no longer have the entity.
  func completed(_ row: RecordRow) -> RecordRow? {
    guard let plan = plans[row.name.entityType] else { return nil }
    var row = row
    for reference in plan.references where reference.isByUUID {
      row.keys.references[reference.name] = row.record.state.fields.text(reference.name)
    }
    row.record.state.fields = plan.completed(row.record.state.fields)
    return row
  }

  /// Returns a record with the names of all fields of its entity; `nil` if the schemas no longer have the entity.
  func completed(_ record: ChangedRecord) -> ChangedRecord? {
    guard let plan = plans[record.content.record.entityType] else { return nil }
    var record = record
    record.content.names = plan.memberNames
    if plan.table.keepsUserEdits { record.content.record.keepsUserEditedFields = true }
    return record
  }

  /// Returns a record with all fields of its entity; `nil` if the schemas no longer have the entity.
  func completed(_ record: ServerRecord) -> ServerRecord? {
    guard let plan = plans[record.name.entityType] else { return nil }
    var record = record
    record.state.fields = plan.completed(record.state.fields)
    return record
  }

  /// Returns the state of a record's deletion, and the records with which it is deleted.
  func cascadeRecord(
    of row: RecordRow, _ jobs: [AccountJob], holder: (UniqueValue) throws -> RecordName?
  ) rethrows -> CascadeGraph<RecordName>.Record {
    CascadeGraph.Record(
      isDeleted: row.record.state.isDeleted, isCascaded: row.isCascaded,
      parents: try parents(of: row, holder: holder).filter(\.reference.dependency.cascades).map(\.name),
      isPending: jobs.contains { $0.kind == .cascade && $0.name == row.name })
  }

  /// Returns the UNIQUE values that a record references.
  func parentValues(of row: RecordRow) -> [UniqueValue] {
    plans[row.name.entityType]?.references.compactMap { reference in
      guard let key = reference.targetKey, !reference.isByUUID else { return nil }
      return row.keys.references[reference.name].map {
        UniqueValue(entityType: reference.dependency.parent.type, key: key, value: $0)
      }
    } ?? []
  }

  /// Returns the records that a record references, with the reference.
  /// - Parameter holder: returns the record that holds a UNIQUE value.
  func parents(
    of row: RecordRow, holder: (UniqueValue) throws -> RecordName?
  ) rethrows -> [(reference: CheckPlan.Reference, name: RecordName)] {
    guard let plan = plans[row.name.entityType] else { return [] }
    return try plan.references.compactMap { reference in
      guard let target = row.keys.references[reference.name] else { return nil }
      let type = reference.dependency.parent.type
      if reference.isByUUID { return (reference, RecordName(type, target)) }
      guard let key = reference.targetKey else { return nil }
      return try holder(UniqueValue(entityType: type, key: key, value: target)).map { (reference, $0) }
    }
  }
}

extension AccountReader {
  /// Returns records with their ancestors.
  private func graph(of names: [RecordName], _ jobs: [AccountJob]) throws -> CascadeGraph<RecordName> {
    var graph = CascadeGraph<RecordName>()
    var open = Set(names)
    while !open.isEmpty {
      var next: Set<RecordName> = []
      for row in try rows.records(Array(open)).compactMap(map.completed) {
        let record = try map.cascadeRecord(of: row, jobs) { try rows.holders(of: [$0])[$0] }
        graph.records[row.name] = record
        next.formUnion(record.parents)
      }
      open = next.filter { graph.records[$0] == nil }
    }
    return graph
  }
}
