import SyncModel

/// The storage of the records of a server's accounts. The layer above decides about operations, so that every engine
/// has the same behaviour. An engine stores, orders and finds records.
///
/// An engine must guarantee:
///
/// - A `write` is one transaction: a crash keeps all of it or nothing. When it returns, it is durable.
/// - Writes of one account are serialisable. A `read` sees one unchanging state.
/// - Each stored version gets the next number of the account's sequence. A change becomes visible only after all
///   changes with lower numbers, so that a reader that has read up to a number never misses a later change.
/// - Accounts do not see each other.
///
/// `Tests/ServerSupport/StorageConformance.swift` checks an engine.
public protocol RecordStorage: Sendable {
  /// The entities, by type.
  var entities: [String: EntityDescription] { get }
  /// The schemas that declare them, with the number of their newest file.
  var schemas: [ServedSchema] { get }

  /// Reads from one state of an account.
  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result

  /// Changes an account in one transaction; an error of `body` rolls it back. Writes that wait for each other may share a
  /// transaction, so `body` may run several times, and only its last run takes effect.
  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result

  /// Makes sure that no failed commit can reappear after a crash. Files that no record references are removed only
  /// after this call.
  func flushFailedCommits(_ account: AccountName) async throws

  /// Waits until an account has a change that concerns a request, at most for its time or until ``stopWaiting()``.
  func waitForChange(_ account: AccountName, _ request: ChangeRequest) async throws -> WaitResult

  /// The use of its limits now.
  var usage: StorageUsage { get }

  /// Checks that the storage can execute requests now.
  /// - Throws: the reason why it cannot, such as a database that does not respond.
  func checkReadiness() async throws

  /// Ends all waiting permanently.
  func stopWaiting()

  /// Closes all accounts.
  func close()
}

/// A response that was stored with the effect of its operation.
public struct StoredResponse: Equatable, Sendable {
  /// The result as JSON.
  public let result: String
  /// The digest of the operation's content; nil for a response of version 1 of the wire format.
  public let digest: String?

  /// Creates a stored response.
  public init(result: String, digest: String?) { (self.result, self.digest) = (result, digest) }
}

/// One state of an account.
public protocol RecordReading {
  /// The epochs of the account's data. They are unique: no other account has them, and neither has the same account on
  /// another server.
  var epochs: EpochHistory { get throws }
  /// The number of the last change.
  var lastSequence: Int64 { get throws }
  /// The number up to which deletions may be forgotten. A device that has not read up to it has to compare all records.
  var horizon: Int64 { get throws }

  /// Whether any record has dependents that still have to follow it.
  var hasJobs: Bool { get throws }
  /// The largest stored time of a response or a deletion, or `nil`.
  var largestStoredTime: Int64? { get throws }

  /// The ids of the devices that have pushed and are not forgotten, ordered.
  var deviceIds: [String] { get throws }

  /// Returns a record, even if it is deleted.
  func record(_ name: RecordName) throws -> ServerRecord?
  /// Returns the highest version of a record that another epoch shares with the current one; `nil` for an unknown
  /// epoch.
  func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64?
  /// Returns whether a record is deleted; `nil` for an unknown record.
  func isDeleted(_ name: RecordName) throws -> Bool?
  /// Returns the records that changed after a number, including deleted ones; without a number all records that are not
  /// deleted. A page of large records may have fewer than `limit` records, but has at least one unless the result is
  /// empty.
  /// - Parameters:
  ///   - projects: only records of these projects and records without a project; `nil` for all.
  ///   - counted: the number of changes that an earlier page has counted after this number; `nil` counts them, at a cost
  ///     that grows with their number.
  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?, counted: Int?) throws -> ChangePage
  /// Returns whether a record changed after a number; `projects` as in ``changes(after:limit:projects:)``.
  func hasChange(after sequence: Int64, projects: Set<String>?) throws -> Bool
  /// Returns the records of some projects with numbers in a range, including deleted ones.
  /// - Parameter numbers: from behind the lower bound up to the upper bound.
  func earlierChanges(of projects: Set<String>, in numbers: ClosedRange<Int64>, limit: Int) throws -> ChangePage
  /// Returns a record, even if it is deleted, with its project.
  func located(_ name: RecordName) throws -> LocatedRecord?
  /// Returns the memberships of a user in all projects. The cost grows with their number only.
  func memberships(of viewer: Viewer) throws -> [Membership]
  /// Returns the projects of the records that reference a content; `nil` among them for records without a project. Empty for a
  /// content that no record references.
  func projects(of content: String) throws -> Set<String?>
  /// Returns the digests of the records that are not deleted, by entity. The cost depends on the number of buckets,
  /// not on the number of records.
  /// - Parameter projects: as in ``changes(after:limit:projects:)``.
  func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary]
  /// Returns the digests of the buckets of an entity, without empty ones.
  func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary]
  /// Returns the digests of the records of some buckets, ordered by UUID.
  func recordDigests(of entityType: String, buckets: [String], projects: Set<String>?) throws -> [RecordDigest]
  /// Returns the contents among some that records reference by `contentUuid`, including deleted records that are not
  /// forgotten yet.
  func contentsInUse(among contents: [String]) throws -> Set<String>
  /// Returns the records' data about a content: the oldest record of each entity, so that a later record cannot
  /// change it.
  func claims(on content: String) throws -> [ContentClaim]
}

/// Changes an account within one transaction.
public protocol RecordWriting: RecordReading {
  /// The user who makes the changes; `nil` for changes by the server.
  var sender: Viewer? { get nonmutating set }
  /// Returns what a user is to a project, after the changes so far.
  func standing(of viewer: Viewer, in project: String) throws -> Standing
  /// Returns whether the deletion or restoration of a record may change records of projects that a user does not see. So it may if
  /// the record has very many dependents.
  func concernsOthers(_ name: RecordName, _ viewer: Viewer) throws -> Bool
  /// The number of records that are not deleted, after the changes so far. The first call counts them; later ones cost nothing.
  var recordCount: Int64 { get throws }
  /// Whether a change of this transaction begins or ends a membership.
  var hasMembershipChanges: Bool { get }
  /// Reads what some operations will need, in a constant number of statements. Other reads cost a statement each.
  func prepare(_ operations: [OperationOutline]) throws
  /// Returns the stored response to an operation, or `nil`.
  func storedResponse(for idempotencyKey: String) throws -> StoredResponse?
  /// Stores the response to an operation.
  func keep(response: String, to operation: OperationContent, at time: Int64) throws
  /// Returns the last push of a device; `nil` for an unknown device.
  func mark(of deviceId: String) throws -> DeviceCounter?
  /// Stores the last push of a device.
  func keep(_ mark: DeviceCounter, of deviceId: String, at time: Int64) throws
  /// Starts a new epoch. Cursors of the epoch before are unknown from then on.
  /// - Returns: the new epoch.
  func startEpoch(at time: Int64) throws -> String
  /// Stores a version of a record under the next number of the sequence.
  ///
  /// A reference of the version must be to a record that is not deleted, if the reference is new or the version restores
  /// the record. A record that is restored with this one counts as not deleted.
  /// - Parameters:
  ///   - previous: the stored record; `nil` for a new one.
  ///   - state: the state to store. Its version is ignored.
  ///   - createdAt: the time when the user created the record, in milliseconds since 1970-01-01 UTC. An existing record
  ///     keeps its own.
  ///   - formerId: the server id that a new record had before the account lost it. The record gets it again if it is free.
  ///   - computing: columns that the schema computes from others, and that are computed from those of `state`.
  ///   - serviceFields: the fields whose value a service wrote, after this change; `nil` keeps those of `previous`.
  /// - Throws: ``StorageRefusal`` for a rule of the data that the version breaks. Nothing is changed in this case.
  func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, formerId: Int64?,
    computing: [String], serviceFields: Set<String>?, at time: Int64
  ) throws -> ServerRecord
  /// Applies the deletion or restoration of a record to its dependents: the records that reference it with ON DELETE
  /// CASCADE, and their dependents. Each changed record gets a version and a number. A dependent is restored if it was
  /// only cascaded and no record that it references with ON DELETE CASCADE stays deleted. It stays deleted if it would
  /// violate a rule of the data.
  ///
  /// Many dependents follow after this transaction, in further transactions of at most 50 ms of CPU time, also after a
  /// restart. Until then ``record(_:)`` and ``isDeleted(_:)`` of a write return the final state, and
  /// ``changes(after:limit:projects:)`` leaves out records that will be deleted.
  /// - Returns: the number of dependents that this transaction visited; 0 without dependents.
  func cascade(from record: ServerRecord, at time: Int64) throws -> Int
  /// Stores that a cascaded record was deleted by an operation as well, so that it is not restored with its root.
  func keepDeleted(_ record: ServerRecord) throws
  /// Returns whether the deletion of a record that the account did not have is stored.
  func hasTombstone(of name: RecordName) throws -> Bool
  /// Stores the deletion of a record that the account does not have.
  func keepTombstone(of name: RecordName, at time: Int64) throws
  /// Removes a stored deletion, because the record is restored.
  func removeTombstone(of name: RecordName) throws
  /// Runs a part that may fail alone: an error rolls it back, and the rest stays.
  func attempt<Result>(_ body: () throws -> Result) throws -> Result
  /// Forgets some of the responses from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetResponses(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the tombstones from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetTombstones(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the deletions from before a time, in the order of their time, except deletions that a record
  /// references.
  /// - Parameter place: the last deletion that an earlier call examined.
  /// - Returns: the number of forgotten deletions, and the last one that this call examined; `nil` at the end.
  func forgetDeletions(
    before time: Int64, after place: RetentionCursor?, atMost limit: Int
  ) throws -> (forgotten: Int, last: RetentionCursor?)
}

extension RecordReading {
  /// Returns the records that changed after a number, and counts the further ones.
  package func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage {
    try changes(after: sequence, limit: limit, projects: projects, counted: nil)
  }
}

extension RecordWriting {
  /// Stores a version of a record without computed columns and with the service fields of the previous version.
  /// - Throws: ``StorageRefusal`` for a rule of the data that the version breaks. Nothing is changed in this case.
  package func store(
    _ name: RecordName, over previous: ServerRecord?, _ state: RecordState, createdAt: Int64, at time: Int64
  ) throws -> ServerRecord {
    try store(
      name, over: previous, state, createdAt: createdAt, formerId: nil, computing: [], serviceFields: nil, at: time)
  }
}

/// The name of a record within an account.
public struct RecordName: Hashable, Sendable {
  /// The entity, such as `AtmosphericLog`.
  public let entityType: String
  /// The lowercase UUID of the record.
  public let entityUuid: String

  /// Creates a name from its parts.
  public init(_ entityType: String, _ entityUuid: String) {
    self.entityType = entityType
    self.entityUuid = entityUuid
  }

  /// The name in the wire format.
  public var reference: RecordReference { RecordReference(entityType: entityType, entityUuid: entityUuid) }
}

extension RemoteRecord {
  /// Creates the wire form of a stored record.
  /// - Parameter deletedWith: the record whose deletion cascaded to this one. A record that is not deleted names none.
  package init(
    _ name: RecordName, serverId: Int64, createdAt: Int64, state: RecordState, deletedWith: RecordName?,
    keepsUserEditedFields: Bool = false, sharedVersion: Int64? = nil
  ) {
    self.init(
      entityType: name.entityType, entityUuid: name.entityUuid, serverId: .integer(serverId), createdAt: createdAt,
      state: state, keepsUserEditedFields: keepsUserEditedFields,
      deletedWith: state.isDeleted ? deletedWith?.reference : nil, sharedVersion: sharedVersion)
  }
}

/// A stored record of the server. `state.syncVersion` is its version; 1 for a new record.
public struct ServerRecord: Sendable, Equatable {
  /// The name of the record.
  public let name: RecordName
  /// The id that the server assigned; unique per entity type.
  public let serverId: Int64
  /// The position of the last change in the account's sequence.
  public let sequence: Int64
  /// The time when the user created the record, in milliseconds since 1970-01-01 UTC.
  public let createdAt: Int64
  /// Fields, deletion, times and version.
  public package(set) var state: RecordState
  /// The version with which a field, or ``RecordState/deletionField``, last changed; an absent field has not changed
  /// since the first version.
  public let fieldVersions: [String: Int64]
  /// The version of a field that never changed: 1, or 0 for a seed row.
  public let firstVersion: Int64
  /// The version at the beginning of each epoch in which the record changed, by the place of the epoch; see
  /// ``EpochHistory``.
  public let startVersions: [Int: Int64]
  /// The record whose deletion cascaded to this one, if it is known.
  public package(set) var deletedWith: RecordName?
  /// The fields whose value a service wrote. Devices wrote the others.
  public let serviceFields: Set<String>

  /// Creates a record from its parts.
  public init(
    name: RecordName, serverId: Int64, sequence: Int64, createdAt: Int64, state: RecordState,
    fieldVersions: [String: Int64], firstVersion: Int64, startVersions: [Int: Int64] = [:],
    deletedWith: RecordName? = nil, serviceFields: Set<String> = []
  ) {
    self.startVersions = startVersions
    self.name = name
    self.serverId = serverId
    self.sequence = sequence
    self.createdAt = createdAt
    self.state = state
    self.fieldVersions = fieldVersions
    self.firstVersion = firstVersion
    self.deletedWith = deletedWith
    self.serviceFields = serviceFields
  }

  /// The version of the record.
  public var version: Int64 { state.syncVersion }

  /// The approximate size as JSON in bytes, for limiting responses.
  package var weight: Int { 200 + SyncValue.object(state.fields).weight }

  /// Returns whether a field, or the deletion, was changed after a version.
  public func hasChanged(_ field: String, after version: Int64) -> Bool {
    (fieldVersions[field] ?? firstVersion) > version
  }
}

/// A rule of the data that a version breaks. It names fields, never values.
package enum StorageRefusal: Error, Equatable, Sendable {
  /// A field has an invalid value; `nil` if the rule concerns more than one field.
  case invalid(field: String?, message: String)
  /// These columns reference records that do not exist.
  case parentMissing(columns: [String])
  /// These columns reference records that are deleted.
  case parentDeleted(columns: [String])
  /// Another record has the values of these columns: `holder`, if it is known.
  case notUnique(columns: [String], holder: RecordName? = nil)
  /// A record that stays references the record, or one of its dependents, by a key that refuses the deletion. After a
  /// restoration, the dependent stays deleted because another record has its place.
  case referenced(by: RecordName)
}

extension SyncValue {
  /// The approximate size of the value as JSON, in bytes.
  fileprivate var weight: Int {
    switch self {
    case .null, .bool, .integer, .real: 16
    case .number(let number): number.text.utf8.count
    case .text(let text): text.utf8.count
    case .array(let elements): elements.reduce(2) { $0 + $1.weight }
    case .object(let object): object.members.reduce(2) { $0 + $1.name.utf8.count + $1.value.weight }
    }
  }
}

/// The facts about an entity that the server needs to decide about an operation.
public final class EntityDescription: Sendable {
  /// The type, such as `AtmosphericLog`.
  public let type: String
  /// The schema that declares it.
  public let schemaName: String
  /// The rules for merging two versions of a record.
  public let rules: MergeRules
  /// The references to other records.
  public let references: [Reference]
  /// Whether records have `userEditedFields`.
  public let hasUserEdits: Bool
  /// Whether records make a user a member of their project.
  public let isMembership: Bool
  /// The columns that do not always count in digests.
  public let digestColumns: DigestColumns
  /// Returns the problem of a field's value; `nil` if it has the type of the field.
  public let problem: @Sendable (_ field: String, _ value: SyncValue) -> String?

  /// A reference to another record.
  public struct Reference: Hashable, Sendable {
    /// The referenced entity.
    public let entityType: String
    /// The fields that form the reference.
    public let fields: [String]
    /// The fields of the referenced record that have the same values. `nil` for a reference of one field, whose value is
    /// the UUID of the record.
    public let targets: [String]?

    /// Creates a reference from its parts.
    public init(entityType: String, fields: [String], targets: [String]? = nil) {
      self.entityType = entityType
      self.fields = fields
      self.targets = targets
    }
  }

  /// Creates a description from its parts.
  public init(
    type: String, schemaName: String, rules: MergeRules, references: [Reference], hasUserEdits: Bool,
    isMembership: Bool = false,
    digestColumns: DigestColumns = DigestColumns(),
    problem: @escaping @Sendable (_ field: String, _ value: SyncValue) -> String?
  ) {
    self.type = type
    self.schemaName = schemaName
    self.rules = rules
    self.references = references
    (self.hasUserEdits, self.isMembership) = (hasUserEdits, isMembership)
    self.digestColumns = digestColumns
    self.problem = problem
  }
}

/// A schema of a server.
public struct ServedSchema: Hashable, Sendable {
  /// The name of the schema.
  public let name: String
  /// The number of the newest schema file.
  public let version: Int

  /// Creates a schema.
  public init(name: String, version: Int) { (self.name, self.version) = (name, version) }
}
