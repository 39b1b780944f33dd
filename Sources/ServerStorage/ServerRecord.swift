import SyncModel

/// The name of a record within an account.
public struct RecordName: Hashable, Sendable {
  /// The entity, such as `AtmosphericLog`.
  public let entityType: String
  /// The uuid of the record, in lower case.
  public let entityUuid: String

  /// A name from its parts.
  public init(_ entityType: String, _ entityUuid: String) {
    self.entityType = entityType
    self.entityUuid = entityUuid
  }
}

/// A record as the server keeps it. `state.syncVersion` is its version; 1 for a new record.
public struct ServerRecord: Sendable, Equatable {
  /// Which record it is.
  public let name: RecordName
  /// The id that the server gave; unique per entity type.
  public let serverId: Int64
  /// Its position in the order of all changes of the account.
  public let sequence: Int64
  /// The time when the user created it, in milliseconds since 1970-01-01 UTC.
  public let createdAt: Int64
  /// Fields, deletion, times and version.
  public package(set) var state: RecordState
  /// The version with which a field, or ``RecordState/deletionField``, last changed; a field that is not here has not
  /// changed since the first version.
  public let fieldVersions: [String: Int64]
  /// The version of a field that never changed: 1, or 0 for a seed row.
  public let firstVersion: Int64
  /// By the place of each epoch in which the record changed its version when that epoch began; see ``EpochHistory``.
  public let startVersions: [Int: Int64]
  /// The record whose deletion cascaded to this one, if it is known.
  public let deletedWith: RecordName?
  /// The fields whose value a service wrote. Devices wrote the others.
  public let serviceFields: Set<String>
  /// UNIQUE values of a deleted record that another record may have by now.
  package var released: SyncObject = [:]

  /// A record from its parts.
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

  /// About how many bytes it has as JSON, for keeping responses to a size.
  package var weight: Int { 200 + SyncValue.object(state.fields).weight }

  /// Whether a field, or the deletion, was changed after a version.
  public func hasChanged(_ field: String, after version: Int64) -> Bool {
    (fieldVersions[field] ?? firstVersion) > version
  }
}

/// A record to store.
public struct NewVersion: Sendable {
  /// Which record it is.
  public let name: RecordName
  /// The stored record; `nil` for a new one.
  public let previous: ServerRecord?
  /// The state to store. Its version is ignored.
  public let state: RecordState
  /// The time when the user created the record, in milliseconds since 1970-01-01 UTC. An existing record keeps its
  /// own.
  public let createdAt: Int64
  /// Columns that the schema computes from others, and that are to be computed from those of `state`.
  public let computing: [String]
  /// The fields whose value a service wrote, after this change; `nil` keeps those of `previous`.
  public let serviceFields: Set<String>?

  /// A version from its parts.
  public init(
    name: RecordName, previous: ServerRecord?, state: RecordState, createdAt: Int64, computing: [String] = [],
    serviceFields: Set<String>? = nil
  ) {
    self.name = name
    self.previous = previous
    self.state = state
    self.createdAt = createdAt
    self.computing = computing
    self.serviceFields = serviceFields
  }
}

/// A rule of the data that a version breaks. It names fields, never values.
package enum StorageRefusal: Error, Equatable, Sendable {
  /// A field has a value that it must not have; nil where no single field is to blame.
  case invalid(field: String?, message: String)
  /// Another record has the values of these columns: `holder`, if it is known.
  case notUnique(columns: [String], holder: RecordName? = nil)
  /// The record cannot be deleted, because this one references it, or one of its dependents, by a key that refuses that.
  case referenced(by: RecordName)
}

/// A page of changes.
public struct ChangePage: Sendable {
  /// In the order in which they were stored.
  public let records: [ServerRecord]
  /// The position after which the next page begins.
  public let end: Int64
  /// How many are left behind this page.
  public let remaining: Int

  /// A page from its parts.
  public init(records: [ServerRecord], end: Int64, remaining: Int) {
    self.records = records
    self.end = end
    self.remaining = remaining
  }
}

extension SyncValue {
  /// About how many bytes the value has as JSON.
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
