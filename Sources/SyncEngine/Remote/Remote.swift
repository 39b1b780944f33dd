import SyncModel
import WebTransport

/// The other side of sync, as the worker sees it. The bundled one speaks to a FieldVault server; another maps an API
/// that exists already.
///
/// Every function answers or throws ``RemoteFailure``, ends soon after its task is cancelled, and may be called from
/// several tasks at once.
public protocol Remote: Sendable {
  /// What has gone over the network so far.
  var traffic: TransferCounts { get }

  /// The files of the server; nil where it keeps none.
  var files: (any FileRemote)? { get }

  /// What can be asked of it.
  var capabilities: RemoteCapabilities { get }

  /// Whether the server is there, and what time it has. Needs no token.
  func health() async throws(RemoteFailure) -> ServerHealth

  /// To whom the token belongs, and which schemas the server has.
  func account() async throws(RemoteFailure) -> AccountInfo

  /// Asks whether the token is accepted.
  func checkToken() async throws(RemoteFailure)

  /// Sends at most ``PushRequest/greatestCount`` operations. The answer has one result for each of them, in their order.
  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse

  /// The records that changed after a cursor; nil begins at the beginning.
  ///
  /// - Parameters:
  ///   - limit: 1 to ``ChangesPage/greatestLimit`` records.
  ///   - projects: uuids; with them only records of these projects and of none. Empty for all.
  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage

  /// Waits until there is a change after a cursor, at most `seconds` (1 to 55). True when there is one.
  func watch(cursor: String, seconds: Int) async throws(RemoteFailure) -> Bool

  /// One digest for each kind of record; `projects` as in `changes`.
  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests

  /// One digest for each bucket of a kind of record.
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
  /// None.
  public var files: (any FileRemote)? { nil }

  /// Asks to whom the token belongs.
  public func checkToken() async throws(RemoteFailure) { _ = try await account() }

  /// All that a FieldVault server can.
  public var capabilities: RemoteCapabilities { RemoteCapabilities() }
}

/// What can be asked of a remote. A FieldVault server can do all of it.
public struct RemoteCapabilities: Equatable, Sendable {
  /// How many operations one request may have, 1 to ``PushRequest/greatestCount``.
  public var batch: Int
  /// Whether it tells digests of its records, so that everything can be compared.
  public var compares: Bool
  /// Whether it answers a question when there is something new.
  public var watches: Bool
  /// Whether a pull from the beginning brings what is there now, and not all that ever was: then a person who wants to see
  /// the newest has it fetched from there.
  public var isCurrent: Bool
  /// Whether bringing a record back brings back there what was deleted along with it.
  public var restores: Bool
  /// Whether an operation that comes again under its id is answered as it was the first time, and done once.
  public var knowsOperations: Bool

  /// Abilities; without arguments those of a FieldVault server.
  public init(
    batch: Int = PushRequest.greatestCount, compares: Bool = true, watches: Bool = true, isCurrent: Bool = false,
    restores: Bool = true, knowsOperations: Bool = true
  ) {
    (self.batch, self.compares, self.watches) = (batch, compares, watches)
    (self.isCurrent, self.restores, self.knowsOperations) = (isCurrent, restores, knowsOperations)
  }
}
