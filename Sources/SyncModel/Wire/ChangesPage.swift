/// A page of `GET /v1/changes`.
public struct ChangesPage: Equatable, Sendable {
  /// How many records a page may have.
  public static let greatestLimit = 1000
  /// The number of records of a page by default.
  public static let usualLimit = 500
  /// A request names at most this many projects.
  public static let greatestProjectCount = 500

  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the records and of the cursor.
  public var epoch: String
  /// The records in the order in which the server stored them.
  public var changes: [RemoteRecord]
  /// Where the next page begins.
  public var cursor: String
  /// Whether there are more changes now.
  public var hasMore: Bool
  /// How many changes are left after this page; nil where the server does not know.
  public var remaining: Int64?
  /// The projects that are no longer in the scope of the user: their clean records leave the device.
  public var removedProjects: [String]
  /// The lists of these changes, if the remote has lists. Not part of the wire format.
  public var fetched: [FetchedList] = []
  /// Records that these lists lack, with their dependents. Not part of the wire format.
  public var gone: [RemoteDeletions] = []

  /// A page; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(
    serverTime: Int64, epoch: String, changes: [RemoteRecord], cursor: String, hasMore: Bool, remaining: Int64?,
    removedProjects: [String] = []
  ) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.removedProjects = removedProjects
    self.changes = changes
    self.cursor = cursor
    self.hasMore = hasMore
    self.remaining = remaining
  }
}

extension ChangesPage: WireMessage {
  /// Reads a page; an error names the record by its place, such as `changes[3].version`.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      changes: try reader.messages("changes"), cursor: try reader.text("cursor"), hasMore: try reader.bool("hasMore"),
      remaining: try reader.optional("remaining", reader.natural),
      removedProjects: try reader.optional("removedProjects", reader.names) ?? [])
  }

  /// The page in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "changes": .array(changes.map(\.wire)), "cursor": .text(cursor), "epoch": .text(epoch),
        "hasMore": .bool(hasMore), "remaining": remaining.map(SyncValue.integer),
        "removedProjects": removedProjects.isEmpty ? nil : .names(Set(removedProjects)),
        "serverTime": .time(serverTime),
      ]))
  }
}

/// The fetch of a list of records, for the age of the records.
public struct FetchedList: Equatable, Sendable {
  /// The entity.
  public var entityType: String
  /// Whether all of it came.
  public var isWhole: Bool
  /// The part that could not be read, for the user, or `nil`.
  public var problem: String?

  /// A list.
  public init(entityType: String, isWhole: Bool, problem: String? = nil) {
    (self.entityType, self.isWhole, self.problem) = (entityType, isWhole, problem)
  }
}

/// Records that are not at a server any more, found out while something else was sent there.
public struct RemoteDeletions: Equatable, Sendable {
  /// The record that was deleted there; `nil` if its deletion was handled already.
  public var root: RemoteRecord?
  /// Its dependents, which were deleted with it.
  public var followers: [RemoteRecord]

  /// Creates deletions from records that are marked as deleted.
  public init(root: RemoteRecord?, followers: [RemoteRecord]) { (self.root, self.followers) = (root, followers) }
}
