import Platform
import CipherSQL
import HTTPServer
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The routes of records, over any storage.
struct SyncService: Sendable {
  let storage: any RecordStorage
  let limits: ServerLimits
  let limiter: RateLimiter
  let serverUuid: String
  let log: RequestLog
  /// Whether files go to an object store.
  let isPresigned: Bool
  /// The time under which changes are stored, for a time of the wall clock.
  let storingTime: @Sendable (Int64) -> Int64
  let environment: Environment
  let waiting = Locked(0)

  init(
    storage: any RecordStorage, limits: ServerLimits, serverUuid: String, log: RequestLog, environment: Environment,
    isPresigned: Bool = false, storingTime: @escaping @Sendable (Int64) -> Int64 = { $0 }
  ) {
    (self.storage, self.limits, self.serverUuid, self.log) = (storage, limits, serverUuid, log)
    (self.environment, self.isPresigned, self.storingTime) = (environment, isPresigned, storingTime)
    limiter = RateLimiter(
      burst: limits.requestBurst, perSecond: limits.requestsPerSecond, clock: environment.clock)
  }

  private var openAPI: OpenAPI { OpenAPI(limits: limits, isPresigned: isPresigned) }
  var now: Int64 { environment.now }

  /// All routes, in the order in which they are described.
  var routes: [Route<Member>] {
    // Files have a contract of their own, which does not depend on the version of the wire format.
    let records = RouteDialect(limiter: limiter, takesJSON: true, checkVersion: Self.checkVersion)
    return [
      Route("GET", "/v1/health", .open { self.health() }, records),
      Route("GET", "/v1/openapi.json", .open { Response.json(try self.openAPI.document()) }, records),
      Route("GET", "/v1/account", .authenticated { try await self.account($0) }, records),
      Route("POST", "/v1/push", .authenticated { try await self.push($0) }, records),
      Route("GET", "/v1/changes", .authenticated { try await self.changes($0) }, records),
      Route("GET", "/v1/watch", .authenticated { try await self.watch($0) }, records),
      Route("GET", "/v1/digests", .authenticated { try await self.digests($0) }, records),
      Route("GET", "/v1/digests/{entity}", .authenticated { try await self.buckets($0) }, records),
      Route("GET", "/v1/digests/{entity}/{bucket}", .authenticated { try await self.bucket($0) }, records),
      Route("POST", "/v1/records", .authenticated { try await self.records($0) }, records),
    ]
  }

  /// Refuses an administrator, who neither pushes nor pulls, except for the description of the account.
  static func authorize(_ member: Member, _ pattern: String) throws(HTTPProblem) {
    guard member.role != .admin || pattern == "/v1/account" else { throw .notForAdmins }
  }

  private static func checkVersion(_ request: Request) throws(HTTPProblem) {
    guard WireProtocol.accepts(request.headers[WireProtocol.header.lowercased()]) else { throw .otherProtocol }
  }

  private func health() -> Response {
    .json(ServerHealth(serverTime: now).wire)
  }

  private func account(_ call: RouteCall<Member>) async throws -> Response {
    let epoch = try await storage.read(call.caller.account) { try $0.epochs.current }
    return .json(
      AccountInfo(
        serverUuid: serverUuid, epoch: epoch, account: call.caller.account.name, user: call.caller.name,
        role: call.caller.role, serverTime: now,
        schemas: storage.schemas.map { AccountInfo.Schema(name: $0.name, version: Int64($0.version)) }
      ).wire)
  }
}

extension RouteCall {
  /// The projects that the request is about; nil for all.
  func projects() throws(HTTPProblem) -> Set<String>? {
    guard let text = request.query["projects"] else { return nil }
    let projects = text.split(separator: ",").map(String.init)
    let greatest = ChangesPage.greatestProjectCount
    guard !projects.isEmpty, projects.count <= greatest, projects.allSatisfy(UUIDText.isCanonical) else {
      throw .invalid("projects are 1 to \(greatest) uuids with commas between them", field: "projects")
    }
    return Set(projects)
  }
}
