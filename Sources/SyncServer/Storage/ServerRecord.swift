import SyncModel

/// The name of a record within an account.
public struct RecordName: Hashable, Sendable {
  /// The kind of record, such as `AtmosphericLog`.
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
  /// Where it stands in the order of all changes of the account.
  public let sequence: Int64
  /// When a person made it, in milliseconds since 1970-01-01 UTC.
  public let createdAt: Int64
  /// Fields, deletion, times and version.
  public let state: RecordState
  /// The version with which a field, or ``RecordState/deletionField``, last changed; a field that is not here has not
  /// changed since the first version.
  public let fieldVersions: [String: Int64]
  /// The version that a field has that never changed: 1, or 0 for a record that every device makes by itself.
  public let firstVersion: Int64

  /// A record from its parts.
  public init(
    name: RecordName, serverId: Int64, sequence: Int64, createdAt: Int64, state: RecordState,
    fieldVersions: [String: Int64], firstVersion: Int64
  ) {
    self.name = name
    self.serverId = serverId
    self.sequence = sequence
    self.createdAt = createdAt
    self.state = state
    self.fieldVersions = fieldVersions
    self.firstVersion = firstVersion
  }

  /// The version of the record.
  public var version: Int64 { state.syncVersion }

  /// About how many bytes its texts have, for keeping answers to a size.
  var weight: Int {
    state.fields.members.reduce(200) { sum, member in
      if case .text(let text) = member.value { return sum + text.utf8.count }
      return sum + 16
    }
  }

  /// Whether a field, or the deletion, was changed after a version.
  public func hasChanged(_ field: String, after version: Int64) -> Bool {
    (fieldVersions[field] ?? firstVersion) > version
  }
}

/// What is to be stored of a record.
public struct NewVersion: Sendable {
  /// Which record it is.
  public let name: RecordName
  /// What was stored before; nil for a new record.
  public let previous: ServerRecord?
  /// What is to be stored; its version is not looked at.
  public let state: RecordState
  /// When a person made the record, in milliseconds since 1970-01-01 UTC; that of a record that is there stays.
  public let createdAt: Int64
  /// Columns that the schema computes from others, and that are to be computed from those of `state`.
  public let computing: [String]

  /// A version from its parts.
  public init(
    name: RecordName, previous: ServerRecord?, state: RecordState, createdAt: Int64, computing: [String] = []
  ) {
    self.name = name
    self.previous = previous
    self.state = state
    self.createdAt = createdAt
    self.computing = computing
  }
}

/// A rule of the data that a version breaks. It names fields, never values.
public enum StorageRefusal: Error, Equatable, Sendable {
  /// A field has a value that it must not have; nil where no single field is to blame.
  case invalid(field: String?, message: String)
  /// Another record has the values of these columns.
  case notUnique(columns: [String])
}

/// A page of changes.
public struct ChangePage: Sendable {
  /// In the order in which they were stored.
  public let records: [ServerRecord]
  /// What a next page begins after.
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
