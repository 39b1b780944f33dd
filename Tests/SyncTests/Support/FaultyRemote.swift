import CipherSQL
import SyncModel
import HTTPClient

@testable import SyncEngine

/// A remote that loses responses or fails operations, as planned for the next push.
final class FaultyRemote: Remote {
  private let remote: any Remote
  private let next = Locked(0)
  private let last = Locked("")

  init(_ remote: any Remote) { self.remote = remote }

  func plan(_ fault: Int) { next.withLock { $0 = fault } }
  var fault: String { last.withLock { $0 } }

  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    let fault = next.withLock { fault in
      defer { fault = 0 }
      return fault
    }
    last.withLock {
      $0 = "\(fault): \(request.operations.map { "\($0.kind) \($0.entityType) \($0.entityUuid.suffix(2))" })"
    }
    let lost = RemoteFailure(.unreachable, message: "lost", hint: "")
    switch fault {
    case 1: throw lost
    case 2:
      _ = try await remote.push(request)
      throw lost
    case 3, 4:
      // One operation fails temporarily (3) or permanently (4). The operations after it in the request wait.
      guard request.operations.count > 1 else { return try await remote.push(request) }
      let split = request.operations.count / 2
      let first = Array(request.operations[..<split])
      let response = try await remote.push(
        PushRequest(
          deviceId: request.deviceId, deviceCounter: request.deviceCounter, cursor: nil, operations: first))
      let failed = request.operations[split]
      var results = response.results
      results.append(
        PushResult(
          operationId: failed.operationId,
          outcome: .rejected(ServerProblem(title: "", status: fault == 3 ? 500 : 422, detail: "planned"))))
      for operation in request.operations[(split + 1)...] {
        results.append(PushResult(operationId: operation.operationId, outcome: .waiting(for: failed.operationId)))
      }
      return PushResponse(serverTime: response.serverTime, epoch: response.epoch, cursor: nil, results: results)
    default: return try await remote.push(request)
    }
  }

  var capabilities: RemoteCapabilities { remote.capabilities }
  var traffic: TransferCounts { remote.traffic }
  func health() async throws(RemoteFailure) -> ServerHealth { try await remote.health() }
  func account() async throws(RemoteFailure) -> AccountInfo { try await remote.account() }
  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage {
    try await remote.changes(cursor: cursor, limit: limit, projects: projects)
  }
  func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    try await remote.watch(cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
  }
  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await remote.digests(projects: projects)
  }
  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await remote.digests(entityType: entityType, projects: projects)
  }
  func digests(entityType: String, buckets: [String], projects: [String]) async throws(RemoteFailure) -> RecordDigests {
    try await remote.digests(entityType: entityType, buckets: buckets, projects: projects)
  }
  func records(entityType: String, uuids: [String], epoch: String?) async throws(RemoteFailure) -> RecordsResponse {
    try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
  }
}
