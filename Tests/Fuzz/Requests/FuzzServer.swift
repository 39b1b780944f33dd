import CipherSQL
import Dispatch
import FuzzStore
import FuzzSupport
import Platform
import SyncModel

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

/// The routes of a server over an account in a folder of its own. Nothing listens, and each request meets the same records.
final class FuzzServer: Sendable {
  /// The token of the account's user.
  let token: String
  private let router: Router<Member>

  /// Makes the folder, the account and its records.
  init() throws {
    let folder = try ServerFolder(ScratchFolder().path + "/data", isCreating: true)
    let directory = try ServerDirectory(in: folder)
    token = try directory.addUser("fuzz", account: "fuzz").token
    let records = try EmbeddedStorage(
      in: folder, schemas: [FuzzSchema.schema], accounts: try directory.accounts())
    var limits = ServerLimits()
    (limits.requestBurst, limits.requestsPerSecond) = (.max, .max)
    (limits.files.requestBurst, limits.files.requestsPerSecond) = (.max, .max)
    let service = SyncService(
      storage: UnchangingStorage(records), limits: limits, serverUuid: directory.serverUuid, log: .silent,
      environment: .system)
    let files = FileService(
      storage: StoreOnlyFiles(), inUse: { _, _ in [] }, limits: limits.files,
      sessions: UploadSessions(limit: limits.files.uploadsAtOnce, clock: .system), log: .silent,
      environment: .system)
    let member = try directory.member(token: token)
    router = Router(
      routes: service.routes + files.routes, log: .silent, user: { [token] in $0 == token ? member : nil },
      authorize: SyncService.authorize, problem: { HTTPProblem(ofMachine: $0) })
    let seeding = Router(
      routes: SyncService(storage: records, limits: limits, serverUuid: "", log: .silent, environment: .system).routes,
      log: .silent, user: { _ in member }, authorize: SyncService.authorize, problem: { HTTPProblem(ofMachine: $0) })
    let response = Self.waiting {
      await seeding.respond(
        to: Request(
          method: "POST", path: "/v1/push",
          headers: [
            "authorization": "Bearer x", "content-type": "application/json",
            WireProtocol.header.lowercased(): "\(WireProtocol.version)",
          ], body: Array(Self.seed.utf8)))
    }
    require(response.status == 200, "the records of the fuzz target: \(String(decoding: response.body, as: UTF8.self))")
  }

  /// The response to a request, after the decisions that precede its body.
  func respond(to request: Request) -> Response {
    Self.waiting { [router] in
      if case .refuse(let refusal) = router.admit(request).admission { return refusal }
      return await router.respond(to: request)
    }
  }

  private static func waiting(_ body: @escaping @Sendable () async -> Response) -> Response {
    let result = Locked<Response?>(nil)
    let end = DispatchSemaphore(value: 0)
    Task {
      let response = await body()
      result.withLock { $0 = response }
      end.signal()
    }
    end.wait()
    guard let response = result.withLock({ $0 }) else { fatalError("no response") }
    return response
  }

  private static let seed = """
    {"deviceId": "d", "deviceCounter": 0, "operations": [
      {"operationId": "1", "idempotencyKey": "k1", "operationType": "create", "entityType": "Thing", "baseVersion": 0,
       "entityUuid": "01a20637-d8ce-7000-869c-dbf29d3f7743", "schemaVersion": 1, "createdAt": "2026-03-01T08:00:00.000Z",
       "updatedAt": "2026-03-01T08:00:00.000Z", "fields": {"title": "x", "count": 1, "tags": "[]"}, "base": {}},
      {"operationId": "2", "idempotencyKey": "k2", "operationType": "create", "entityType": "Thing", "baseVersion": 0,
       "entityUuid": "01a20637-d8ce-7000-869c-dbf29d3f7744", "schemaVersion": 1, "createdAt": "2026-03-01T08:00:00.000Z",
       "updatedAt": "2026-03-01T08:00:00.000Z",
       "fields": {"title": "y", "code": "c", "parentId": "01a20637-d8ce-7000-869c-dbf29d3f7743"}, "base": {}}]}
    """
}

/// A storage whose writes are taken back after their result is known.
private struct UnchangingStorage: RecordStorage {
  private let storage: EmbeddedStorage

  init(_ storage: EmbeddedStorage) { self.storage = storage }

  private struct Undo: Error {}

  var entities: [String: EntityDescription] { storage.entities }
  var schemas: [ServedSchema] { storage.schemas }

  func read<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordReading) throws -> Result
  ) async throws -> Result {
    try await storage.read(account, body)
  }

  func write<Result: Sendable>(
    _ account: AccountName, _ body: @escaping @Sendable (any RecordWriting) throws -> Result
  ) async throws -> Result {
    let outcome = Locked<Result?>(nil)
    do {
      try await storage.write(account) { data in
        let result = try body(data)
        outcome.withLock { $0 = result }
        throw Undo()
      }
    } catch is Undo {}
    guard let result = outcome.withLock({ $0 }) else { fatalError("a write has no result") }
    return result
  }

  var usage: StorageUsage { storage.usage }
  func flushFailedCommits(_ account: AccountName) async throws {}
  func checkReadiness() async throws {}
  func waitForChange(_ account: AccountName, _ request: ChangeRequest) async throws -> WaitResult {
    .unchanged(until: request.position.sequence)
  }
  func stopWaiting() {}
  func close() {}
}
