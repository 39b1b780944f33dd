import CipherSQL
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
  let serverUuid: String
  let log: RequestLog
  /// Whether files go to an object store.
  var isPresigned = false
  /// The time under which changes are stored, for a time of the wall clock.
  var storingTime: @Sendable (Int64) -> Int64 = { $0 }
  let waiting = Locked(0)

  static let name = "fieldvault"

  private var openAPI: OpenAPI { OpenAPI(limits: limits, isPresigned: isPresigned) }
  var now: Int64 { Date.nowInMilliseconds().milliseconds }

  /// All routes, in the order in which they are described.
  var routes: [Route] {
    [
      Route("GET", "/v1/health", .open { self.health() }),
      Route("GET", "/v1/openapi.json", .open { Response.json(try self.openAPI.document()) }),
      Route("GET", "/v1/account", .member { try await self.account($0) }),
      Route("POST", "/v1/push", .member { try await self.push($0) }),
      Route("GET", "/v1/changes", .member { try await self.changes($0) }),
      Route("GET", "/v1/watch", .member { try await self.watch($0) }),
      Route("GET", "/v1/digests", .member { try await self.digests($0) }),
      Route("GET", "/v1/digests/{entity}", .member { try await self.buckets($0) }),
      Route("GET", "/v1/digests/{entity}/{bucket}", .member { try await self.bucket($0) }),
      Route("POST", "/v1/records", .member { try await self.records($0) }),
    ]
  }

  private func health() -> Response {
    .json([
      "service": .text(Self.name), "protocol": .integer(WireProtocol.version), "serverTime": wireTime(now),
    ])
  }

  private func account(_ call: RouteCall) async throws -> Response {
    let epoch = try await storage.read(call.member.account) { try $0.epochs.current }
    let schemas = storage.schemas.map { schema -> SyncValue in
      ["name": .text(schema.name), "version": .integer(Int64(schema.version))]
    }
    return .json([
      "service": .text(Self.name), "protocol": .integer(WireProtocol.version), "serverUuid": .text(serverUuid),
      "epoch": .text(epoch), "account": .text(call.member.account.name), "user": .text(call.member.name),
      "role": .text(call.member.role.rawValue), "serverTime": wireTime(now), "schemas": .array(schemas),
    ])
  }

  /// The body of a request as a JSON object.
  func object(_ call: RouteCall) throws(HTTPProblem) -> SyncObject {
    let value: SyncValue
    do throws(SyncModelError) {
      value = try SyncValue(parsing: call.request.body)
    } catch {
      throw .badRequest("the body is not JSON: \(error)")
    }
    guard case .object(let object) = value else { throw .badRequest("the body is no JSON object") }
    return object
  }
}

extension RouteCall {
  /// The projects that the request is about; nil for all.
  func projects() throws(HTTPProblem) -> Set<String>? {
    guard let text = request.query["projects"] else { return nil }
    let projects = text.split(separator: ",").map(String.init)
    let greatest = ChangesPage.greatestProjectCount
    guard !projects.isEmpty, projects.count <= greatest, projects.allSatisfy(IncomingOperation.isUUID) else {
      throw .invalid("projects are 1 to \(greatest) uuids with commas between them", field: "projects")
    }
    return Set(projects)
  }
}
