import CipherSQL
import SyncEngine
import FileTransfers
import SyncModel
import HTTPClient

/// The observed requests of a worker.
final class RemoteNotes: Sendable {
  private struct State {
    var lastResponse: ContinuousClock.Instant?
    var longestPause = Duration.zero
    var pushes: [PushRequest] = []
  }

  private let state = Locked(State())

  /// The longest time between a response and the next request: the transaction that applies the response, and at most
  /// a read of the cursor.
  var longestPause: Double { state.withLock { $0.longestPause.inSeconds } }
  /// The sent operations, in order.
  var pushes: [PushRequest] { state.withLock { $0.pushes } }

  fileprivate func sendsRequest() {
    state.withLock { state in
      if let last = state.lastResponse { state.longestPause = max(state.longestPause, ContinuousClock.now - last) }
      state.lastResponse = nil
    }
  }

  fileprivate func responds() { state.withLock { $0.lastResponse = .now } }
  fileprivate func sends(_ request: PushRequest) { state.withLock { $0.pushes.append(request) } }
}

/// A server whose requests are noted on their way.
struct ObservedRemote: Remote {
  let remote: FieldVaultRemote
  let notes: RemoteNotes

  var traffic: TransferCounts { remote.traffic }
  var files: (any FileRemote)? { remote.files }

  private func noted<Response: Sendable>(
    _ ask: (FieldVaultRemote) async throws(RemoteFailure) -> Response
  ) async throws(RemoteFailure) -> Response {
    notes.sendsRequest()
    let response = try await ask(remote)
    notes.responds()
    return response
  }

  func health() async throws(RemoteFailure) -> ServerHealth {
    try await noted { remote async throws(RemoteFailure) in try await remote.health() }
  }

  func account() async throws(RemoteFailure) -> AccountInfo {
    try await noted { remote async throws(RemoteFailure) in try await remote.account() }
  }

  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    notes.sends(request)
    return try await noted { remote async throws(RemoteFailure) in try await remote.push(request) }
  }

  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage {
    try await noted { remote async throws(RemoteFailure) in
      try await remote.changes(cursor: cursor, limit: limit, projects: projects)
    }
  }

  func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    try await noted { remote async throws(RemoteFailure) in
      try await remote.watch(cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
    }
  }

  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await noted { remote async throws(RemoteFailure) in try await remote.digests(projects: projects) }
  }

  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await noted { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, projects: projects)
    }
  }

  func digests(
    entityType: String, buckets: [String], projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests {
    try await noted { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, buckets: buckets, projects: projects)
    }
  }

  func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    try await noted { remote async throws(RemoteFailure) in
      try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
    }
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
