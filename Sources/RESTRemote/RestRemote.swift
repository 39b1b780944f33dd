import FileTransfers
import SyncEngine
import VaultStore
import SyncModel
import HTTPClient

/// An existing API, used according to a route file: each record is sent with separate requests, and the lists of
/// server-owned entities are fetched.
///
/// Such an API has no versions, so the server does not merge: the sent values win. A record that the server deleted is
/// a conflict for the user.
public struct RestRemote: Remote {
  let client: RestClient
  let records: RestRecords
  var file: RouteFile { client.file }

  /// Creates a remote for the records of a vault.
  /// - Parameters:
  ///   - file: routes that passed `RouteFile.check(against:)`.
  ///   - limits: the limits for reading one list.
  public init(transport: HTTPTransport, file: RouteFile, vault: Vault, limits: ListLimits = ListLimits()) {
    client = RestClient(transport: transport, file: file, limits: limits, environment: vault.environment)
    records = RestRecords(vault: vault)
  }

  /// Such an API keeps no versions, so its data have one epoch for good.
  static let epoch = "api"

  /// The bytes sent and received so far.
  public var traffic: TransferCounts { client.transport.traffic }

  /// One operation per request, so that each response is stored before the next record is sent. Such an API has no
  /// comparison and no long polls.
  public var capabilities: RemoteCapabilities {
    RemoteCapabilities(
      batch: 1, compares: false, watches: false, isCurrent: true, restores: false, knowsOperations: false)
  }

  /// The images of records, if the route file describes their upload.
  public var files: (any FileRemote)? {
    file.entities.values.contains { $0.image != nil } ? RestFiles(client: client, records: records) : nil
  }

  /// Lets the token be renewed again.
  public func roundBegins() { client.transport.allowRenewal() }

  /// Requests the path of the route file, or the base of the API. Any response of the API is sufficient.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    try await client.health()
    return ServerHealth(serverTime: client.serverTime)
  }

  /// Returns the user of the token. If the API does not name one, all tokens belong to one account.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    var (account, user) = (file.service, "")
    if let route = file.account {
      let response = try await client.ask("GET", route.call.path.description)
      guard case .done(let document?) = response, let id = route.id.value(in: document).flatMap(ServerId.init) else {
        throw RestClient.failure(response)
          ?? RemoteFailure(
            .refused, message: "the API does not report the account of the token",
            hint: "check 'account' in the route file")
      }
      account = id.description
      if let place = route.user, case .text(let name)? = place.value(in: document) { user = name }
    }
    // The API has no schemas. The route file decides what is sent.
    let schemas = Set(records.catalog.tables.values.compactMap { $0.entity.sync?.schemaName }).sorted()
    return AccountInfo(
      serverUuid: NameUUID.text(["server", client.identity]), epoch: Self.epoch, account: account,
      user: user.isEmpty ? account : user, serverTime: client.serverTime,
      schemas: schemas.map { AccountInfo.Schema(name: $0, version: .max) })
  }

  /// Requests the user of the token, or otherwise the beginning of a list.
  public func checkToken() async throws(RemoteFailure) {
    if file.account != nil {
      _ = try await account()
      return
    }
    for (_, routes) in file.entities.sorted(by: { $0.key < $1.key }) {
      guard case .call(let call, _, _, _)? = routes.list else { continue }
      let response = try await client.ask(call.method, call.path.description)
      switch response {
      case .credentials, .notThere: throw RestClient.failure(response) ?? .offline
      // A problem of a single list is reported when it is fetched.
      case .done, .gone, .invalid, .later, .attempt: return
      }
    }
  }

  /// Sends operations one after the other.
  public func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    var results: [PushResult] = []
    var gone: [RemoteDeletions] = []
    for operation in request.operations {
      let sent = try await RestPush(client: client, records: records, operation: operation).send()
      results.append(PushResult(operationId: operation.operationId, outcome: sent.outcome))
      if let records = sent.gone { gone.append(records) }
    }
    return PushResponse(
      serverTime: client.serverTime, epoch: Self.epoch, cursor: request.cursor ?? RestLists.end, results: results,
      gone: gone)
  }

  /// Fetches the lists of the API, one per page. Without a cursor all lists; with a cursor the old ones.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    try await RestLists(client: client, records: records).page(cursor)
  }

  /// Never called; see ``capabilities``.
  public func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse { throw Self.unable }
  /// Never called; see ``capabilities``.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests { throw Self.unable }
  /// Never called; see ``capabilities``.
  public func digests(
    entityType: String, projects: [String]
  ) async throws(RemoteFailure) -> BucketDigests { throw Self.unable }
  /// Never called; see ``capabilities``.
  public func digests(
    entityType: String, buckets: [String], projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests { throw Self.unable }

  /// Returns no records: the referenced records are part of their own lists.
  public func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    RecordsResponse(serverTime: client.serverTime, epoch: Self.epoch, changes: [], missing: uuids)
  }

  private static let unable = RemoteFailure(
    .refused, message: "an existing REST API does not support this request", hint: "use a FieldVault server")
}
