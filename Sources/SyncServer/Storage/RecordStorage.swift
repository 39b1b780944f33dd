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
  func buryFailedChanges(_ account: AccountName) async throws

  /// Returns true as soon as an account has a change after a number of its sequence, or false after a time, or when
  /// ``stopWaiting()`` was called.
  func waitForChange(_ account: AccountName, after sequence: Int64, seconds: Int) async throws -> Bool

  /// Ends all waiting, for good.
  func stopWaiting()

  /// Closes everything.
  func close()
}

/// One state of an account.
public protocol RecordReading {
  /// Tells the data of this account from all others, those of the same account on another server included.
  var identity: String { get throws }
  /// The number of the last change.
  var lastSequence: Int64 { get throws }
  /// Deletions up to this number may be forgotten: who has not read that far has to compare everything.
  var horizon: Int64 { get throws }

  /// A record, deleted ones too.
  func record(_ name: RecordName) throws -> ServerRecord?
  /// Whether a record is deleted; nil when it was never there.
  func isDeleted(_ name: RecordName) throws -> Bool?
  /// The records that changed after a number, deleted ones too; without a number all that are not deleted. A page may
  /// have fewer than `limit` when the records are large, and has at least one where there is one.
  /// - Parameter projects: only records that belong to one of these, and those that belong to none; nil for all.
  func changes(after sequence: Int64?, limit: Int, projects: Set<String>?) throws -> ChangePage
  /// The digests of the records of a kind that are not deleted, by uuid.
  /// - Parameter bucket: only uuids that end in these two digits.
  func forEachDigest(
    _ entityType: String, bucket: String?, projects: Set<String>?, _ body: (RecordDigest) -> Void
  ) throws
  /// Which of these files' contents records refer to by `contentUuid`, deleted records that are not forgotten yet included.
  func contentsInUse(among contents: [String]) throws -> Set<String>
}

/// An account while it is changed.
public protocol RecordWriting: RecordReading {
  /// What an operation was answered before.
  func answer(to operationId: String) throws -> String?
  /// Keeps what an operation is answered.
  func keep(answer: String, to operationId: String, at time: Int64) throws
  /// Stores a version of a record under the next number of the sequence.
  /// - Throws: ``StorageRefusal`` for a rule of the data that it breaks; then nothing was changed.
  func store(_ new: NewVersion, at time: Int64) throws -> ServerRecord
  /// Deletes what refers to a deleted record with ON DELETE CASCADE; each gets a version and a number.
  /// - Returns: how many records that were.
  func deleteDependents(of record: ServerRecord, at time: Int64) throws -> Int
  /// Brings back what ``deleteDependents(of:at:)`` deleted and what now refers, through others that come back, to nothing
  /// deleted with ON DELETE CASCADE any more; each gets a version and a number. What would break a rule of the data by now
  /// stays deleted.
  /// - Returns: how many records that were.
  func restoreDependents(of record: ServerRecord, at time: Int64) throws -> Int
  /// A record that a deletion took along was deleted by itself as well: it does not come back with the other one.
  func keepDeleted(_ record: ServerRecord) throws
  /// Runs a part that may fail by itself: what it did is undone when it throws, and the rest stays.
  func attempt<Result>(_ body: () throws -> Result) throws -> Result
  /// Forgets answers and deletions from before a time, in milliseconds since 1970-01-01 UTC.
  func forget(before time: Int64) throws
}
