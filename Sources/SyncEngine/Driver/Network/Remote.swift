import FileTransfers
import HTTPClient
import SyncModel

/// The peer of the engine: a FieldVault server, or an existing API through a route file.
///
/// Every function returns or throws ``RemoteFailure``, ends soon after its task is cancelled, and may be called from
/// several tasks at once.
public protocol Remote: Sendable {
  /// The bytes sent and received so far.
  var traffic: TransferCounts { get }

  /// The files of the server; `nil` if it stores no files.
  var files: (any FileRemote)? { get }

  /// The operations that the remote supports.
  var capabilities: RemoteCapabilities { get }

  /// Prepares a sync round. A remote that renews its token may ask for a token again that it failed to obtain before.
  func roundBegins()

  /// Checks that the server responds, and returns its time. Needs no token.
  func health() async throws(RemoteFailure) -> ServerHealth

  /// Returns the user and the account of the token, and the schemas of the server.
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

  /// Waits for a change after a cursor.
  ///
  /// - Parameters:
  ///   - projects: as in `changes`.
  ///   - deviceId: the id with which the device pushes, so that its own pushes do not end the wait; `nil` if it is unknown.
  ///   - seconds: the longest wait, from 1 to 55.
  func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse

  /// Returns one digest for each entity; `projects` as in `changes`.
  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests

  /// Returns one digest for each bucket of an entity.
  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests

  /// Returns one digest for each record of some buckets, which are two hexadecimal digits each.
  ///
  /// - Parameter buckets: at most ``BucketDigests/bucketLimit``.
  func digests(
    entityType: String, buckets: [String], projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests

  /// Returns single records, at most ``RecordsRequest/greatestCount``, including deleted ones.
  ///
  /// - Parameter epoch: the epoch of the device's versions; for another epoch than its own, the server returns the
  ///   versions that both have in common.
  func records(entityType: String, uuids: [String], epoch: String?) async throws(RemoteFailure) -> RecordsResponse
}

extension Remote {
  /// Does nothing, by default.
  public func roundBegins() {}

  /// No files, by default.
  public var files: (any FileRemote)? { nil }

  /// Checks the token by requesting its account.
  public func checkToken() async throws(RemoteFailure) { _ = try await account() }

  /// The capabilities of a FieldVault server.
  public var capabilities: RemoteCapabilities { RemoteCapabilities() }
}

/// The operations that a remote supports. A FieldVault server supports all of them.
public struct RemoteCapabilities: Equatable, Sendable {
  /// The maximum number of operations in a request, 1 to ``PushRequest/greatestCount``.
  public var batch: Int
  /// Whether it returns digests of its records, so that all records can be compared.
  public var compares: Bool
  /// Whether it supports long polls for changes.
  public var watches: Bool
  /// Whether a pull from the beginning returns the current records only. In this case a user's request for the newest
  /// data pulls from the beginning.
  public var isCurrent: Bool
  /// Whether restoring a record also restores its dependents on the server.
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

/// A remote that reports the results of its requests to the network monitor, and that fails at once without a network
/// instead of waiting for a timeout.
public struct MonitoredRemote: Remote {
  private let remote: any Remote
  private let monitor: NetworkMonitor

  /// Creates a monitored remote.
  public init(_ remote: any Remote, monitor: NetworkMonitor) {
    self.remote = remote
    self.monitor = monitor
  }

  /// The bytes sent and received so far.
  public var traffic: TransferCounts { remote.traffic }

  /// The files of the remote. The worker reports their results to the monitor.
  public var files: (any FileRemote)? { remote.files }

  /// The capabilities of the remote.
  public var capabilities: RemoteCapabilities { remote.capabilities }

  /// Prepares a sync round.
  public func roundBegins() { remote.roundBegins() }

  /// - Parameter isProof: whether a response proves that the server works again.
  private func watched<Response: Sendable>(
    isProof: Bool = true, _ ask: (any Remote) async throws(RemoteFailure) -> Response
  ) async throws(RemoteFailure) -> Response {
    guard monitor.state != .offline else { throw .offline }
    do throws(RemoteFailure) {
      let response = try await ask(remote)
      if isProof { monitor.report(.ok) }
      return response
    } catch {
      // A server that reports why it refuses has responded.
      monitor.report(error.problem == nil ? error.responseClass : .ok)
      throw error
    }
  }

  /// Requests the state of the server.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    try await watched { remote async throws(RemoteFailure) in try await remote.health() }
  }

  /// Checks the token at the server.
  public func checkToken() async throws(RemoteFailure) {
    try await watched { remote async throws(RemoteFailure) in try await remote.checkToken() }
  }

  /// Requests the account of the token.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    try await watched { remote async throws(RemoteFailure) in try await remote.account() }
  }

  /// Sends a batch of operations.
  public func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    try await watched { remote async throws(RemoteFailure) in try await remote.push(request) }
  }

  /// Requests a page of changes.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.changes(cursor: cursor, limit: limit, projects: projects)
    }
  }

  /// Waits for changes. A successful long poll does not prove that the server accepts writes, so it does not reset the
  /// backoff.
  public func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    try await watched(isProof: false) { remote async throws(RemoteFailure) in
      try await remote.watch(cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
    }
  }

  /// Requests digests.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await watched { remote async throws(RemoteFailure) in try await remote.digests(projects: projects) }
  }

  /// Requests digests.
  public func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, projects: projects)
    }
  }

  /// Requests digests.
  public func digests(
    entityType: String, buckets: [String], projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, buckets: buckets, projects: projects)
    }
  }

  /// Requests single records.
  public func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
    }
  }
}

/// A FieldVault server over HTTP, as specified in `WireFormat.md`.
public struct FieldVaultRemote: Remote {
  private let transport: HTTPTransport
  private let ownFiles: FieldVaultFiles

  /// Creates a remote for the server of a transport.
  public init(transport: HTTPTransport) {
    self.transport = transport
    ownFiles = FieldVaultFiles(transport: transport)
  }

  /// The bytes sent and received so far, counting complete responses.
  public var traffic: TransferCounts { transport.traffic }

  /// The files of the server.
  public var files: (any FileRemote)? { ownFiles }

  /// Lets the token be renewed again.
  public func roundBegins() { transport.allowRenewal() }

  /// Requests `GET /v1/health`. A response of another service does not count.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    let health: ServerHealth = try await transport.ask(HTTPRequest("/v1/health", isAuthorized: false))
    guard health.service == ServerHealth.serviceName else {
      throw RemoteFailure(.notTheServer(detail: "it is another service"))
    }
    return health
  }

  /// Requests `GET /v1/account`.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    try await transport.ask(HTTPRequest("/v1/account"))
  }

  /// Sends `POST /v1/push`. The response has one result for each operation, in the same order.
  public func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    try await transport.ask(HTTPRequest("/v1/push", body: request.jsonBytes))
  }

  /// Requests `GET /v1/changes`.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    let query = (cursor.map { [("cursor", $0)] } ?? []) + [("limit", String(limit))] + Self.query(projects)
    return try await transport.ask(HTTPRequest("/v1/changes", query: query))
  }

  /// Requests `GET /v1/watch`.
  public func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    try await transport.ask(
      HTTPRequest(
        "/v1/watch",
        query: [("cursor", cursor), ("timeout", String(seconds))] + (deviceId.map { [("deviceId", $0)] } ?? [])
          + Self.query(projects),
        timeoutSeconds: Double(seconds)))
  }

  /// Requests `GET /v1/digests`.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await transport.ask(HTTPRequest("/v1/digests", query: Self.query(projects)))
  }

  /// Requests `GET /v1/digests/ENTITY`.
  public func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await transport.ask(
      HTTPRequest("/v1/digests/\(ServerAddress.encoded(entityType))", query: Self.query(projects)))
  }

  /// Requests `GET /v1/digests/ENTITY/BUCKETS`.
  public func digests(
    entityType: String, buckets: [String], projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests {
    let path = "/v1/digests/\(ServerAddress.encoded(entityType))/\(buckets.joined(separator: ","))"
    return try await transport.ask(HTTPRequest(path, query: Self.query(projects)))
  }

  /// Sends `POST /v1/records`.
  public func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    let request = RecordsRequest(entityType: entityType, uuids: uuids, epoch: epoch)
    return try await transport.ask(HTTPRequest("/v1/records", body: request.jsonBytes))
  }

  private static func query(_ projects: [String]) -> [(name: String, value: String)] {
    projects.isEmpty ? [] : [("projects", projects.joined(separator: ","))]
  }
}

/// The rights of the user of a FieldVault server to the data of the account. An existing REST API has no such requests.
extension FieldVaultRemote {
  /// Sends `POST /v1/account/export`.
  /// - Parameter cursor: the cursor of the page before; `nil` begins an export.
  public func exportPage(after cursor: String?) async throws(RemoteFailure) -> AccountExportPage {
    try await transport.ask(HTTPRequest("/v1/account/export", body: AccountExportRequest(cursor: cursor).jsonBytes))
  }

  /// Sends `DELETE /v1/account`. After a lost connection, a server that no longer accepts the token has deleted the account.
  public func deleteAccount() async throws(RemoteFailure) -> AccountDeleted {
    var request = HTTPRequest("/v1/account")
    (request.method, request.isRepeatable) = ("DELETE", false)
    return try await transport.ask(request)
  }
}
