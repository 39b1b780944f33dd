import FileTransfers
import SyncModel
import HTTPClient

/// The peer of the engine: a FieldVault server, or an existing API through a route file.
///
/// Every function returns or throws ``RemoteFailure``, ends soon after its task is cancelled, and may be called from
/// several tasks at once.
public protocol Remote: Sendable {
  /// The bytes sent and received so far.
  var traffic: TransferCounts { get }

  /// The files of the server; `nil` if it stores none.
  var files: (any FileRemote)? { get }

  /// The operations that the remote supports.
  var capabilities: RemoteCapabilities { get }

  /// Checks that the server responds, and returns its time. Needs no token.
  func health() async throws(RemoteFailure) -> ServerHealth

  /// To whom the token belongs, and which schemas the server has.
  func account() async throws(RemoteFailure) -> AccountInfo

  /// Asks whether the token is accepted.
  func checkToken() async throws(RemoteFailure)

  /// Sends at most ``PushRequest/greatestCount`` operations. The response has one result for each of them, in the
  /// same order.
  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse

  /// Fetches the records that changed after a cursor; `nil` for all records.
  ///
  /// - Parameters:
  ///   - limit: 1 to ``ChangesPage/greatestLimit`` records.
  ///   - projects: the UUIDs of projects. Only their records and records without a project are returned. Empty for
  ///     all records.
  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage

  /// Waits until there is a change after a cursor, at most `seconds` (1 to 55). True when there is one.
  func watch(cursor: String, seconds: Int) async throws(RemoteFailure) -> Bool

  /// Returns one digest for each entity; `projects` as in `changes`.
  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests

  /// Returns one digest for each bucket of an entity.
  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests

  /// One digest for each record of a bucket, which is two hexadecimal digits.
  func digests(
    entityType: String, bucket: String, projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests

  /// Single records, at most ``RecordsRequest/greatestCount``, deleted ones too.
  ///
  /// - Parameter epoch: the epoch of the device's versions; with another epoch than its own the server tells the versions
  ///   that both have in common.
  func records(entityType: String, uuids: [String], epoch: String?) async throws(RemoteFailure) -> RecordsResponse
}

extension Remote {
  /// No lists.
  public var files: (any FileRemote)? { nil }

  /// Asks to whom the token belongs.
  public func checkToken() async throws(RemoteFailure) { _ = try await account() }

  /// All that a FieldVault server can.
  public var capabilities: RemoteCapabilities { RemoteCapabilities() }
}

/// The operations that a remote supports. A FieldVault server supports all of them.
public struct RemoteCapabilities: Equatable, Sendable {
  /// The most operations of one request, 1 to ``PushRequest/greatestCount``.
  public var batch: Int
  /// Whether it tells digests of its records, so that everything can be compared.
  public var compares: Bool
  /// Whether it supports long polls for changes.
  public var watches: Bool
  /// Whether a pull from the beginning returns the current records only. In this case a user's request for the newest
  /// data pulls from the beginning.
  public var isCurrent: Bool
  /// Whether restoring a record restores its dependents there.
  public var restores: Bool
  /// Whether it recognises a repeated operation, returns the same response and executes it once.
  public var knowsOperations: Bool

  /// Creates capabilities; without arguments those of a FieldVault server.
  public init(
    batch: Int = PushRequest.greatestCount, compares: Bool = true, watches: Bool = true, isCurrent: Bool = false,
    restores: Bool = true, knowsOperations: Bool = true
  ) {
    (self.batch, self.compares, self.watches) = (batch, compares, watches)
    (self.isCurrent, self.restores, self.knowsOperations) = (isCurrent, restores, knowsOperations)
  }
}
