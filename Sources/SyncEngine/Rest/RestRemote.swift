import OfflineStore
import SyncModel
import WebTransport

/// An API that exists already, spoken to as a route file says: each record goes by requests of its own, and its lists are
/// fetched as what the server decides about.
///
/// Such an API keeps no versions, so nothing is merged there: what a device sends is what counts. What is gone at the server
/// is a conflict for a person.
public struct RestRemote: Remote {
  let client: RestClient
  let records: RestRecords
  var file: RouteFile { client.file }

  /// A remote for the records of a vault.
  /// - Parameters:
  ///   - file: routes that `RouteFile.check(against:)` has let pass.
  ///   - limits: how much of one list is read.
  public init(transport: HTTPTransport, file: RouteFile, vault: Vault, limits: ListLimits = ListLimits()) {
    client = RestClient(transport: transport, file: file, limits: limits)
    records = RestRecords(vault: vault)
  }

  /// Such an API keeps no versions, so its data have one epoch for good.
  static let epoch = "api"

  /// What has gone over the network so far.
  public var traffic: TransferCounts { client.transport.traffic }

  /// One request after the other, so that each answer is kept before the next record goes; no comparison and no waiting
  /// for changes, which such an API does not have.
  public var capabilities: RemoteCapabilities {
    RemoteCapabilities(
      batch: 1, compares: false, watches: false, isCurrent: true, restores: false, knowsOperations: false)
  }

  /// The images of records, where the route file says how they go.
  public var files: (any FileRemote)? {
    file.entities.values.contains { $0.image != nil } ? RestFiles(client: client, records: records) : nil
  }

  /// Asks what the route file names, or the base of the API. Any answer of an API will do: it is there.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    try await client.health()
    return ServerHealth(serverTime: client.serverTime)
  }

  /// Who the token belongs to. Where the API does not say, all tokens count as those of one account.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    var (account, user) = (file.service, "")
    if let route = file.account {
      let answer = try await client.ask("GET", route.call.path.description)
      guard case .done(let document?) = answer, let id = route.id.value(in: document).flatMap(ServerId.init) else {
        throw RestClient.failure(answer)
          ?? RemoteFailure(
            .refused, message: "the API does not say who the token belongs to",
            hint: "look at 'account' in the route file")
      }
      account = id.description
      if let place = route.user, case .text(let name)? = place.value(in: document) { user = name }
    }
    // The API has no schemas: what is sent to it is what the route file says.
    let schemas = Set(records.catalog.tables.values.compactMap { $0.entity.sync?.schemaName }).sorted()
    return AccountInfo(
      serverUuid: NameUUID.text(["server", client.identity]), epoch: Self.epoch, account: account,
      user: user.isEmpty ? account : user, serverTime: client.serverTime,
      schemas: schemas.map { AccountInfo.Schema(name: $0, version: .max) })
  }

  /// Asks whose token it is or, where the API does not say, for the beginning of a list.
  public func checkToken() async throws(RemoteFailure) {
    if file.account != nil {
      _ = try await account()
      return
    }
    for (_, routes) in file.entities.sorted(by: { $0.key < $1.key }) {
      guard case .call(let call, _, _, _)? = routes.list else { continue }
      let answer = try await client.ask(call.method, call.path.description)
      switch answer {
      case .credentials, .notThere: throw RestClient.failure(answer) ?? .offline
      // What is wrong with a list alone is reported when it is fetched.
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

  /// The lists of the API, one a page. Without a cursor all of them; with one those that have become old.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    try await RestLists(client: client, records: records).page(cursor)
  }

  /// Never asked: see ``capabilities``.
  public func watch(cursor: String, seconds: Int) async throws(RemoteFailure) -> Bool { throw Self.unable }
  /// Never asked: see ``capabilities``.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests { throw Self.unable }
  /// Never asked: see ``capabilities``.
  public func digests(
    entityType: String, projects: [String]
  ) async throws(RemoteFailure) -> BucketDigests { throw Self.unable }
  /// Never asked: see ``capabilities``.
  public func digests(
    entityType: String, bucket: String, projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests { throw Self.unable }

  /// None: what a record of a list refers to comes with the list of its own kind.
  public func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    RecordsResponse(epoch: Self.epoch, changes: [], missing: uuids)
  }

  private static let unable = RemoteFailure(
    .refused, message: "an API that exists already cannot be asked this", hint: "use a FieldVault server for it")
}
