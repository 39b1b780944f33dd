import SyncModel

/// The position of an account.
package struct AccountHeader: Sendable, Equatable {
  /// The number of the last change.
  package var lastSequence: Int64
  /// The number up to which deletions may be forgotten.
  package var horizon: Int64
  /// The highest version of a forgotten record. New records begin above it, so that no version is used twice.
  package var forgottenVersion: Int64
  /// The epochs, the current one last.
  package var epochs: [String]
  /// The number of the last change before the current epoch.
  package var epochStart: Int64
  /// The number of records that are not deleted; `nil` until it is needed for the first time.
  package var recordCount: Int64?

  /// Creates a position.
  package init(
    lastSequence: Int64, horizon: Int64, forgottenVersion: Int64, epochs: [String], epochStart: Int64,
    recordCount: Int64? = nil
  ) {
    (self.lastSequence, self.horizon, self.forgottenVersion) = (lastSequence, horizon, forgottenVersion)
    self.recordCount = recordCount
    (self.epochs, self.epochStart) = (epochs, epochStart)
  }
}

/// The server id of a record of an entity.
package struct AssignedId: Hashable, Sendable {
  /// The entity.
  package let entityType: String
  /// The id, which is unique within the entity.
  package let serverId: Int64

  /// Creates the id.
  package init(entityType: String, serverId: Int64) { (self.entityType, self.serverId) = (entityType, serverId) }
}

/// The rows of one account in one transaction of an engine: the generic layout that all engines share. An engine whose
/// statements cost a round trip uses one for each call, whatever the number of names or values.
package protocol AccountRows {
  /// Returns the position of the account.
  func header() throws -> AccountHeader
  /// Returns the rows of some records; unknown records are absent.
  func records(_ names: [RecordName]) throws -> [RecordRow]
  /// Returns the records with some server ids.
  func records(with ids: [AssignedId]) throws -> [AssignedId: RecordName]
  /// Returns rows in the order of their sequence.
  func page(_ selection: PageSelection, limit: Int) throws -> [RecordRow]
  /// Returns the records of a page of changes in the order of their sequence.
  func changes(_ selection: PageSelection, limit: Int, weight: Int) throws -> ChangeRows
  /// Returns the records of some projects in the order of their sequence.
  /// - Parameter numbers: the sequences, from behind the lower bound up to the upper bound.
  func changes(of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int, weight: Int) throws -> ChangeRows
  /// Returns the number of records that changed after a number, including deleted ones.
  func count(after sequence: Int64, projects: Set<String>?) throws -> Int
  /// Returns the sums of digests of an entity, or of all entities.
  /// - Parameter projects: the projects, with the empty one for records without a project; `nil` for all.
  func buckets(of entityType: String?, projects: Set<String>?) throws -> [(name: BucketName, sum: DigestSum)]
  /// Returns the sums of digests of some buckets; empty buckets are absent.
  func buckets(_ names: [BucketName]) throws -> [BucketName: DigestSum]
  /// Returns the digests of the records of some buckets that are not deleted.
  func recordDigests(of entityType: String, buckets: [String], projects: Set<String>?) throws -> [RecordDigest]
  /// Returns the records that hold UNIQUE values.
  func holders(of values: [UniqueValue]) throws -> [UniqueValue: RecordName]
  /// Returns the UUIDs of the records with a reference, ordered.
  func dependents(_ reference: ReferenceValue, after uuid: String?, limit: Int) throws -> [String]
  /// Returns the UUIDs of the records with some references, ordered: the first ones of each.
  func dependents(of references: [ReferenceValue], limit: Int) throws -> [ReferenceValue: [String]]
  /// Returns the targets among some that a record of an entity references.
  func targets(of entityType: String, reference: String, among targets: [String]) throws -> Set<String>
  /// Returns all jobs in the order of their numbers.
  func jobs() throws -> [AccountJob]
  /// Returns the last assigned server id of each entity.
  func lastServerIds() throws -> [String: Int64]
  /// Returns stored responses by idempotency key.
  func responses(_ keys: [String]) throws -> [String: StoredResponse]
  /// Returns the ids of all devices, ordered.
  func deviceIds() throws -> [String]
  /// Returns the last push of a device.
  func mark(of deviceId: String) throws -> DeviceCounter?
  /// Returns the records among some whose deletion is stored although the account did not have them.
  func tombstones(among names: [RecordName]) throws -> Set<RecordName>
  /// Returns all memberships of some holders.
  func memberships(of holders: [String]) throws -> [Membership]
  /// Returns the memberships of some holders and of the creators in some projects.
  func memberships(of projects: [String], holders: [String]) throws -> [Membership]
  /// Returns the largest stored time of a response or a deletion.
  func largestStoredTime() throws -> Int64?
  /// Returns deletions from before a time, in the order of their time, without those of seed rows.
  func deletions(before time: Int64, after place: RetentionCursor?, limit: Int) throws
    -> [(place: RetentionCursor, name: RecordName)]
}

/// Changes the rows of one account in one transaction of an engine.
package protocol AccountRowsWriting: AccountRows {
  /// Returns the number of records that are not deleted. The cost grows with the number of buckets.
  func countRecords() throws -> Int64
  /// Applies changes.
  func apply(_ changes: AccountChanges) throws
  /// Removes all UNIQUE values, references and sums of digests, which follow from the rows.
  func removeDerived() throws
  /// Changes the texts of stored responses.
  /// - Parameter rewrite: returns the new text of a response; `nil` keeps it.
  func rewriteResponses(_ rewrite: (String) throws -> String?) throws
  /// Removes some responses and device counters from before a time. Returns whether there may be more.
  func removeResponses(before time: Int64, atMost limit: Int) throws -> Bool
  /// Removes some tombstones from before a time. Returns whether there may be more.
  func removeTombstones(before time: Int64, atMost limit: Int) throws -> Bool
}

/// The records that a page is taken from.
package struct PageSelection: Sendable {
  /// The number after which the records changed.
  package var after: Int64
  /// The projects; records without a project are always included. `nil` for all records.
  package var projects: Set<String>?
  /// Whether deleted records are left out.
  package var onlyLive: Bool
  /// Whether deleted seed rows are included nevertheless. A new device has the seed rows of the schemas.
  package var withSeeds: Bool

  /// Creates a selection.
  package init(after: Int64, projects: Set<String>?, onlyLive: Bool = false, withSeeds: Bool = false) {
    (self.after, self.projects, self.onlyLive, self.withSeeds) = (after, projects, onlyLive, withSeeds)
  }
}

/// The records of a page in the order of their sequence.
package struct ChangeRows: Sendable {
  /// The records, without the names of their fields.
  package var rows: [ChangedRecord]
  /// Whether no further row follows.
  package var isLast: Bool

  /// Creates a page.
  package init(rows: [ChangedRecord], isLast: Bool) { (self.rows, self.isLast) = (rows, isLast) }
}

/// The changes that a transaction makes to an account. They are applied at once.
package struct AccountChanges: Sendable {
  /// The new position; `nil` if it stays.
  package var header: AccountHeader?
  /// The time of a new epoch, which is the last one of ``header``; `nil` without a new epoch.
  package var epochStartedAt: Int64?
  /// The last assigned server ids that changed.
  package var lastServerIds: [String: Int64] = [:]
  /// Rows with the row that each replaces; `nil` as the new row removes a record.
  package var records: [RecordName: (old: RecordRow?, new: RecordRow?)] = [:]
  /// The new sums of buckets.
  package var buckets: [BucketName: DigestSum] = [:]
  /// Responses with their time.
  package var responses: [String: (response: StoredResponse, storedAt: Int64)] = [:]
  /// The last pushes of devices with their time.
  package var marks: [String: (mark: DeviceCounter, seenAt: Int64)] = [:]
  /// The times of tombstones; `nil` removes one.
  package var tombstones: [RecordName: Int64?] = [:]
  /// Jobs by number; `nil` removes one.
  package var jobs: [Int64: AccountJob?] = [:]
  /// The memberships that changed.
  package var memberships: [Membership.Key: Membership] = [:]
  /// The projects all of whose memberships are removed.
  package var forgottenProjects: Set<String> = []

  /// Creates an empty set of changes.
  package init() {}

  /// Whether there is nothing to apply.
  package var isEmpty: Bool {
    header == nil && lastServerIds.isEmpty && records.isEmpty && buckets.isEmpty && responses.isEmpty && marks.isEmpty
      && tombstones.isEmpty && jobs.isEmpty && memberships.isEmpty && forgottenProjects.isEmpty
  }
}

/// A record of a page of changes.
public struct ChangedRecord: Sendable {
  /// The number of the change.
  public let sequence: Int64
  /// The record.
  public var content: RecordText

  /// Creates a record from its parts.
  /// - Parameters:
  ///   - state: the state without fields.
  ///   - deletedWith: the record whose deletion cascaded to this one.
  ///   - fields: the stored fields.
  package init(
    sequence: Int64, name: RecordName, serverId: Int64, createdAt: Int64, state: RecordState, deletedWith: RecordName?,
    fields: String
  ) {
    self.sequence = sequence
    content = RecordText(
      record: RemoteRecord(name, serverId: serverId, createdAt: createdAt, state: state, deletedWith: deletedWith),
      fields: fields)
  }

  /// The name of the record.
  public var name: RecordName { RecordName(content.record.entityType, content.record.entityUuid) }
  /// The approximate size of the record in a response, in bytes.
  package var weight: Int { 200 + content.fields.utf8.count }
}

/// A page of changes.
public struct ChangePage: Sendable {
  /// The records in the order in which they were stored.
  public let records: [ChangedRecord]
  /// The position after which the next page begins.
  public let end: Int64
  /// The number of changes after this page, without those that came since they were counted. At least 1 unless this is the
  /// last page.
  public let remaining: Int

  /// Creates a page from its parts.
  public init(records: [ChangedRecord], end: Int64, remaining: Int) {
    self.records = records
    self.end = end
    self.remaining = remaining
  }
}
