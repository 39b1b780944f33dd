import FileTransfers
import SyncModel
import HTTPClient

/// A remote that reports the results of its requests to the network monitor, and that fails at once without a network
/// instead of waiting for a timeout.
public struct MonitoredRemote: Remote {
  private let remote: any Remote
  private let monitor: NetworkMonitor

  /// A remote that is watched.
  public init(_ remote: any Remote, monitor: NetworkMonitor) {
    self.remote = remote
    self.monitor = monitor
  }

  /// The bytes sent and received so far.
  public var traffic: TransferCounts { remote.traffic }

  /// The files of the remote. The worker reports their results to the monitor.
  public var files: (any FileRemote)? { remote.files }

  /// As the remote has them.
  public var capabilities: RemoteCapabilities { remote.capabilities }

  /// - Parameter isProof: whether a response proves that the server works again.
  private func watched<Answer: Sendable>(
    isProof: Bool = true, _ ask: (any Remote) async throws(RemoteFailure) -> Answer
  ) async throws(RemoteFailure) -> Answer {
    guard monitor.state != .offline else { throw .offline }
    do throws(RemoteFailure) {
      let answer = try await ask(remote)
      if isProof { monitor.report(.ok) }
      return answer
    } catch {
      // A server that reports why it refuses has responded.
      monitor.report(error.problem == nil ? error.answer : .ok)
      throw error
    }
  }

  /// As the remote does it.
  public func health() async throws(RemoteFailure) -> ServerHealth {
    try await watched { remote async throws(RemoteFailure) in try await remote.health() }
  }

  /// As the remote does it.
  public func checkToken() async throws(RemoteFailure) {
    try await watched { remote async throws(RemoteFailure) in try await remote.checkToken() }
  }

  /// As the remote does it.
  public func account() async throws(RemoteFailure) -> AccountInfo {
    try await watched { remote async throws(RemoteFailure) in try await remote.account() }
  }

  /// As the remote does it.
  public func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    try await watched { remote async throws(RemoteFailure) in try await remote.push(request) }
  }

  /// As the remote does it.
  public func changes(
    cursor: String?, limit: Int, projects: [String]
  ) async throws(RemoteFailure) -> ChangesPage {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.changes(cursor: cursor, limit: limit, projects: projects)
    }
  }

  /// A successful long poll does not prove that the server accepts writes, so it does not reset the backoff.
  public func watch(cursor: String, seconds: Int) async throws(RemoteFailure) -> Bool {
    try await watched(isProof: false) { remote async throws(RemoteFailure) in
      try await remote.watch(cursor: cursor, seconds: seconds)
    }
  }

  /// As the remote does it.
  public func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    try await watched { remote async throws(RemoteFailure) in try await remote.digests(projects: projects) }
  }

  /// As the remote does it.
  public func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, projects: projects)
    }
  }

  /// As the remote does it.
  public func digests(
    entityType: String, bucket: String, projects: [String]
  ) async throws(RemoteFailure) -> RecordDigests {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.digests(entityType: entityType, bucket: bucket, projects: projects)
    }
  }

  /// As the remote does it.
  public func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    try await watched { remote async throws(RemoteFailure) in
      try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
    }
  }
}
