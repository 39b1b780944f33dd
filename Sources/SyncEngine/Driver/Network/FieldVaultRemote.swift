import FileTransfers
import SyncModel
import HTTPClient

/// A FieldVault server over HTTP, as `WireFormat.md` has it.
public struct FieldVaultRemote: Remote {
  private let transport: HTTPTransport
  private let ownFiles: FieldVaultFiles

  /// A server that is reached by a transport.
  public init(transport: HTTPTransport) {
    self.transport = transport
    ownFiles = FieldVaultFiles(transport: transport)
  }

  /// The bytes sent and received so far, counting complete responses.
  public var traffic: TransferCounts { transport.traffic }

  /// The files of the server.
  public var files: (any FileRemote)? { ownFiles }

  /// `GET /v1/health`. A response of another service does not count.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    let health: ServerHealth = try await transport.ask(HTTPRequest("/v1/health", isAuthorized: false))
    guard health.service == ServerHealth.serviceName else {
      throw RemoteFailure(.notTheServer(detail: "it is another service"))
    }
    return health
  }

  /// `GET /v1/account`.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    try await transport.ask(HTTPRequest("/v1/account"))
  }

  /// `POST /v1/push`. The response has one result for each operation, in the same order.
  public func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    try await transport.ask(HTTPRequest("/v1/push", body: request.jsonBytes))
  }

  /// `GET /v1/changes`.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    let query = (cursor.map { [("cursor", $0)] } ?? []) + [("limit", String(limit))] + Self.query(projects)
    return try await transport.ask(HTTPRequest("/v1/changes", query: query))
  }

  /// `GET /v1/watch`.
  public func watch(cursor: String, seconds: Int) async throws(RemoteFailure) -> Bool {
    let answer: WatchResponse = try await transport.ask(
      HTTPRequest(
        "/v1/watch", query: [("cursor", cursor), ("timeout", String(seconds))], timeoutSeconds: Double(seconds)))
    return answer.changed
  }

  /// `GET /v1/digests`.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await transport.ask(HTTPRequest("/v1/digests", query: Self.query(projects)))
  }

  /// `GET /v1/digests/ENTITY`.
  public func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await transport.ask(
      HTTPRequest("/v1/digests/\(ServerAddress.encoded(entityType))", query: Self.query(projects)))
  }

  /// `GET /v1/digests/ENTITY/BUCKET`.
  public func digests(
    entityType: String, bucket: String, projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests {
    let path = "/v1/digests/\(ServerAddress.encoded(entityType))/\(ServerAddress.encoded(bucket))"
    return try await transport.ask(HTTPRequest(path, query: Self.query(projects)))
  }

  /// `POST /v1/records`.
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
