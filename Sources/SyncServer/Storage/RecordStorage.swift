import SyncModel

/// Where a server keeps the records of its accounts. What happens to an operation is decided above it, so that it means
/// the same with every engine; an engine stores, orders and looks up.
///
/// What an engine must hold:
///
/// - A `write` is one transaction: all of it is there after a crash, or nothing. When it returns, it is durable.
/// - Writes of one account happen one after the other, or as if they did. A `read` sees one unchanging state.
/// - Each stored version gets the next number of the account's sequence. No change becomes visible while one with a lower
///   number is not: whoever has read up to a number never misses what comes later.
/// - Accounts do not see each other.
///
/// `Tests/SyncServerTests/Conformance` checks an engine.
public protocol RecordStorage: Sendable {
  /// The kinds of record, by type.
  var entities: [String: EntityDescription] { get }
  /// The schemas that declare them, with the number of their newest file.
  var schemas: [ServedSchema] { get }

  /// Reads from one state of an account.
  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result

  /// Changes an account in one transaction; what `body` throws undoes it.
  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result

  /// Makes sure that no change that has failed can come back, as it may after a crash: files that no record refers to go
  /// behind this.
  func flushFailedCommits(_ account: AccountName) async throws

  /// Lets these records follow what was deleted or restored above them, where that has still to be done, so that reads say of them
  /// what they will be.
  func applyPendingCascades(_ account: AccountName, _ names: [RecordName]) async throws

  /// Returns true as soon as an account has a change after a number of its sequence, or false after a time, or when
  /// ``stopWaiting()`` was called.
  func waitForChange(_ account: AccountName, after sequence: Int64, seconds: Int) async throws -> Bool

  /// Ends all waiting, for good.
  func stopWaiting()

  /// Closes everything.
  func close()
}

/// A response that was stored with the effect of its operation.
public struct StoredResponse: Equatable, Sendable {
  /// The result as JSON.
  public let result: String
  /// The digest of the operation's content; nil for a response of version 1 of the wire format.
  public let digest: String?

  /// A stored response.
  public init(result: String, digest: String?) { (self.result, self.digest) = (result, digest) }
}

/// One state of an account.
public protocol RecordReading {
  /// The epochs of the account's data. No other account has one of them, not even the same account on another server.
  var epochs: EpochHistory { get throws }
  /// The number of the last change.
  var lastSequence: Int64 { get throws }
  /// Deletions up to this number may be forgotten: who has not read that far has to compare everything.
  var horizon: Int64 { get throws }

  /// The largest time at which an answer or a deletion was stored; nil when there is none.
  var largestStoredTime: Int64? { get throws }

  /// A record, deleted ones too.
  func record(_ name: RecordName) throws -> ServerRecord?
  /// The highest version of a record that another epoch has in common with the current one; nil for an unknown epoch.
  func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64?
  /// Whether a record is deleted; nil when it was never there.
  func isDeleted(_ name: RecordName) throws -> Bool?
  /// The records that changed after a number, deleted ones too; without a number all that are not deleted. A page may
  /// have fewer than `limit` when the records are large, and has at least one where there is one.
  /// - Parameter projects: only records that belong to one of these, and those that belong to none; nil for all.
  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage
  /// The digests of the records that are not deleted, by kind. Costs what there are buckets, whatever number of records there is.
  /// - Parameter projects: as in ``changes(after:limit:projects:)``.
  func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary]
  /// The digests of the buckets of a kind, without empty ones.
  func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary]
  /// The digests of the records of one bucket.
  func recordDigests(of entityType: String, bucket: String, projects: Set<String>?) throws -> [RecordDigest]
  /// Which of these files' contents records refer to by `contentUuid`, deleted records that are not forgotten yet included.
  func contentsInUse(among contents: [String]) throws -> Set<String>
  /// What records say about a content: of each kind of record the oldest, so that a later record cannot change it.
  func claims(on content: String) throws -> [ContentClaim]
}

/// An account while it is changed.
public protocol RecordWriting: RecordReading {
  /// The stored response to an operation; nil when there is none.
  func answer(to idempotencyKey: String) throws -> StoredResponse?
  /// Stores the response to an operation.
  func keep(answer: String, to operation: SealedContent, at time: Int64) throws
  /// The last push of a device; nil for an unknown device.
  func mark(of deviceId: String) throws -> DeviceCounter?
  /// Stores the last push of a device.
  func keep(_ mark: DeviceCounter, of deviceId: String, at time: Int64) throws
  /// Starts a new epoch. Cursors of the epoch before are unknown from then on.
  /// - Returns: the new epoch.
  func startEpoch(at time: Int64) throws -> String
  /// Stores a version of a record under the next number of the sequence.
  /// - Throws: ``StorageRefusal`` for a rule of the data that it breaks; then nothing was changed.
  func store(_ new: NewVersion, at time: Int64) throws -> ServerRecord
  /// Lets the dependents of a record follow its deletion or restoration: those that refer to it with ON DELETE CASCADE, and theirs.
  /// Each that changes gets a version and a number. A dependent is restored when it was only cascaded and no record that it refers to
  /// so stays deleted. It stays deleted when it would break a rule of the data by now.
  ///
  /// Many dependents follow after this transaction, in others of at most 50 ms of CPU time, also after a restart. Until then
  /// ``record(_:)`` and ``isDeleted(_:)`` of a write say what they will be, and ``changes(after:limit:projects:)`` leaves out those
  /// that will be deleted.
  /// - Returns: how many dependents were visited in this transaction: 0 when there are none.
  func cascade(from record: ServerRecord, at time: Int64) throws -> Int
  /// Whether a deleted record can be restored, because no record that it refers to with ON DELETE CASCADE stays deleted.
  func canReturn(_ name: RecordName) throws -> Bool
  /// A record that a deletion took along was deleted by itself as well: it does not come back with the other one.
  func keepDeleted(_ record: ServerRecord) throws
  /// Whether the deletion of a record that the account did not have is remembered.
  func hasTombstone(of name: RecordName) throws -> Bool
  /// Remembers the deletion of a record that the account does not have.
  func keepTombstone(of name: RecordName, at time: Int64) throws
  /// Forgets such a deletion, because the record is restored.
  func removeTombstone(of name: RecordName) throws
  /// Runs a part that may fail by itself: what it did is undone when it throws, and the rest stays.
  func attempt<Result>(_ body: () throws -> Result) throws -> Result
  /// Forgets some of the answers from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetAnswers(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the tombstones from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetTombstones(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the deletions from before a time, in the order of their time, without those that a record still refers to.
  /// - Parameter place: the last one that was looked at before.
  /// - Returns: how many were forgotten, and the last one that was looked at; nil at the end.
  func forgetDeletions(
    before time: Int64, after place: RetentionCursor?, atMost limit: Int
  ) throws -> (forgotten: Int, last: RetentionCursor?)
}

/// Where a deletion stands in the order in which deletions are forgotten.
public struct RetentionCursor: Sendable {
  /// The server's time of the deletion, in milliseconds since 1970-01-01 UTC.
  public let storedAt: Int64
  /// Its number in the account's sequence.
  public let sequence: Int64

  /// A place from its parts.
  public init(storedAt: Int64, sequence: Int64) { (self.storedAt, self.sequence) = (storedAt, sequence) }
}

extension RecordStorage {
  /// How many answers or deletions one transaction looks at.
  private static var forgottenPerWrite: Int { 100 }

  /// Forgets answers and deletions from before a time, in bounded transactions. Stops when the task is cancelled.
  func forget(_ account: AccountName, before time: Int64) async throws {
    let limit = Self.forgottenPerWrite
    while try await write(account, { try $0.forgetAnswers(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    while try await write(account, { try $0.forgetTombstones(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    // A record that others still refer to stays; those that go make way for those that they referred to.
    var forgotten = 0
    repeat {
      forgotten = 0
      var place: RetentionCursor?
      repeat {
        try Task.checkCancellation()
        let step = try await write(account) { [place] data in
          try data.forgetDeletions(before: time, after: place, atMost: limit)
        }
        forgotten += step.forgotten
        place = step.last
      } while place != nil
    } while forgotten > 0
  }
}
