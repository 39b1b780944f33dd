import SyncModel

/// The storage of the records of a server's accounts. The layer above decides about operations, so that every engine
/// has the same behaviour. An engine stores, orders and finds records.
///
/// An engine must guarantee:
///
/// - A `write` is one transaction: after a crash, all of it exists or nothing. When it returns, it is durable.
/// - Writes of one account are serialisable. A `read` sees one unchanging state.
/// - Each stored version gets the next number of the account's sequence. A change becomes visible only after all
///   changes with lower numbers, so that a reader that has read up to a number never misses a later change.
/// - Accounts do not see each other.
///
/// `Tests/SQLCipherStorageTests/StorageConformance.swift` checks an engine.
public protocol RecordStorage: Sendable {
  /// The kinds of record, by type.
  var entities: [String: EntityDescription] { get }
  /// The schemas that declare them, with the number of their newest file.
  var schemas: [ServedSchema] { get }

  /// Reads from one state of an account.
  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result

  /// Changes an account in one transaction; an error of `body` rolls it back.
  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result

  /// Makes sure that no failed commit can reappear after a crash. Files that no record references are removed only
  /// after this call.
  func flushFailedCommits(_ account: AccountName) async throws

  /// Lets these records follow a pending deletion or restoration of their ancestors, so that reads return their final
  /// state.
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
  /// Deletions up to this number may be forgotten. A device that has not read that far has to compare all records.
  var horizon: Int64 { get throws }

  /// The largest stored time of a response or a deletion, or `nil`.
  var largestStoredTime: Int64? { get throws }

  /// A record, deleted ones too.
  func record(_ name: RecordName) throws -> ServerRecord?
  /// The highest version of a record that another epoch has in common with the current one; nil for an unknown epoch.
  func sharedVersion(of record: ServerRecord, with epoch: String) throws -> Int64?
  /// Whether a record is deleted; nil when it was never there.
  func isDeleted(_ name: RecordName) throws -> Bool?
  /// Returns the records that changed after a number, including deleted ones; without a number all records that are
  /// not deleted. A page may have fewer than `limit` records if they are large, and has at least one if there is one.
  /// - Parameter projects: only records of these projects and records without a project; `nil` for all.
  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage
  /// Returns the digests of the records that are not deleted, by entity. The cost depends on the number of buckets,
  /// not on the number of records.
  /// - Parameter projects: as in ``changes(after:limit:projects:)``.
  func entityDigests(projects: Set<String>?) throws -> [String: DigestSummary]
  /// The digests of the buckets of a kind, without empty ones.
  func bucketDigests(of entityType: String, projects: Set<String>?) throws -> [String: DigestSummary]
  /// The digests of the records of one bucket.
  func recordDigests(of entityType: String, bucket: String, projects: Set<String>?) throws -> [RecordDigest]
  /// Returns which of these files' contents records reference by `contentUuid`, including deleted records that are
  /// not forgotten yet.
  func contentsInUse(among contents: [String]) throws -> Set<String>
  /// Returns the records' data about a content: the oldest record of each entity, so that a later record cannot
  /// change it.
  func claims(on content: String) throws -> [ContentClaim]
}

/// An account while it is changed.
public protocol RecordWriting: RecordReading {
  /// The stored response to an operation, or `nil`.
  func answer(to idempotencyKey: String) throws -> StoredResponse?
  /// Stores the response to an operation.
  func keep(answer: String, to operation: OperationContent, at time: Int64) throws
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
  /// Lets the dependents of a record follow its deletion or restoration: the records that reference it with ON DELETE
  /// CASCADE, and their dependents. Each changed record gets a version and a number. A dependent is restored if it
  /// was only cascaded and no record that it references with ON DELETE CASCADE stays deleted. It stays deleted if it
  /// would violate a rule of the data.
  ///
  /// Many dependents follow after this transaction, in others of at most 50 ms of CPU time, also after a restart.
  /// Until then ``record(_:)`` and ``isDeleted(_:)`` of a write return the final state, and
  /// ``changes(after:limit:projects:)`` leaves out records that will be deleted.
  /// - Returns: the number of dependents that this transaction visited; 0 without dependents.
  func cascade(from record: ServerRecord, at time: Int64) throws -> Int
  /// Returns whether a deleted record can be restored, because no record that it references with ON DELETE CASCADE
  /// stays deleted.
  func canReturn(_ name: RecordName) throws -> Bool
  /// Stores that a cascaded record was deleted by an operation as well, so that it is not restored with its root.
  func keepDeleted(_ record: ServerRecord) throws
  /// Whether the deletion of a record that the account did not have is remembered.
  func hasTombstone(of name: RecordName) throws -> Bool
  /// Remembers the deletion of a record that the account does not have.
  func keepTombstone(of name: RecordName, at time: Int64) throws
  /// Removes such a deletion, because the record is restored.
  func removeTombstone(of name: RecordName) throws
  /// Runs a part that may fail alone: an error rolls it back, and the rest stays.
  func attempt<Result>(_ body: () throws -> Result) throws -> Result
  /// Forgets some of the responses from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetAnswers(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the tombstones from before a time, in milliseconds since 1970-01-01 UTC.
  /// - Returns: whether there may be more.
  func forgetTombstones(before time: Int64, atMost limit: Int) throws -> Bool
  /// Forgets some of the deletions from before a time, in the order of their time, except deletions that a record
  /// references.
  /// - Parameter place: the last deletion that an earlier call looked at.
  /// - Returns: the number of forgotten deletions, and the last one that this call looked at; `nil` at the end.
  func forgetDeletions(
    before time: Int64, after place: RetentionCursor?, atMost limit: Int
  ) throws -> (forgotten: Int, last: RetentionCursor?)
}

/// The position of a deletion in the order in which deletions are forgotten.
public struct RetentionCursor: Sendable {
  /// The server's time of the deletion, in milliseconds since 1970-01-01 UTC.
  public let storedAt: Int64
  /// Its number in the account's sequence.
  public let sequence: Int64

  /// A place from its parts.
  public init(storedAt: Int64, sequence: Int64) { (self.storedAt, self.sequence) = (storedAt, sequence) }
}

extension RecordStorage {
  /// The number of responses or deletions that one transaction looks at.
  private static var forgottenPerWrite: Int { 100 }

  /// Forgets responses and deletions from before a time, in bounded transactions. Stops when the task is cancelled.
  package func forget(_ account: AccountName, before time: Int64) async throws {
    let limit = Self.forgottenPerWrite
    while try await write(account, { try $0.forgetAnswers(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    while try await write(account, { try $0.forgetTombstones(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    // A record that other records reference stays. Removed records release the records that they referenced.
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
