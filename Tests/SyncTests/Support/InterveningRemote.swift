import CipherSQL
import SyncModel
import Testing
import HTTPClient

@testable import SyncEngine
@testable import FileTransfers

/// A remote that runs a closure before each push and can change responses.
final class InterveningRemote: Remote {
  private struct State {
    var before: @Sendable (Int) async throws -> Void = { _ in }
    var after: @Sendable (Int, inout PushResponse) -> Void = { _, _ in }
    var sent: [[PushOperation]] = []
    var pulls = 0
    var watches = 0
    var watch: (@Sendable () -> Bool)?
    var account: @Sendable (inout AccountInfo) -> Void = { _ in }
    var page: (@Sendable (Int, String?) -> ChangesPage)?
    var records: @Sendable (inout [RemoteRecord]) -> Void = { _ in }
    var comparison: @Sendable () throws -> Void = {}
  }

  let remote: any Remote
  let able = Locked(RemoteCapabilities())
  /// The file remote, or `nil` if the remote has no files.
  let fileRemote = Locked<(any FileRemote)?>(nil)
  var files: (any FileRemote)? { fileRemote.withLock { $0 } }
  private let state = Locked(State())

  init(remote: any Remote) { self.remote = remote }

  /// The operations of each push, in order.
  var sent: [[PushOperation]] { state.withLock { $0.sent } }

  /// The number of requested pages.
  var pulls: Int { state.withLock { $0.pulls } }

  func intervene(
    _ before: @escaping @Sendable (Int) async throws -> Void,
    _ after: @escaping @Sendable (Int, inout PushResponse) -> Void = { _, _ in }
  ) {
    state.withLock { ($0.before, $0.after) = (before, after) }
  }

  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    let (number, before, after) = state.withLock { state in
      state.sent.append(request.operations)
      return (state.sent.count, state.before, state.after)
    }
    do {
      try await before(number)
    } catch let failure as RemoteFailure {
      throw failure
    } catch {
      Issue.record(error)
    }
    var response = try await remote.push(request)
    after(number, &response)
    return response
  }

  var capabilities: RemoteCapabilities { able.withLock { $0 } }
  var traffic: TransferCounts { remote.traffic }

  func health() async throws(RemoteFailure) -> ServerHealth { try await remote.health() }

  func account() async throws(RemoteFailure) -> AccountInfo {
    var account = try await remote.account()
    state.withLock { $0.account }(&account)
    return account
  }

  /// Changes the account information in each response.
  func changeAccount(_ change: @escaping @Sendable (inout AccountInfo) -> Void) {
    state.withLock { $0.account = change }
  }

  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage {
    let page = state.withLock { state in
      state.pulls += 1
      return state.page?(state.pulls, cursor)
    }
    if let page { return page }
    var response = try await remote.changes(cursor: cursor, limit: limit, projects: projects)
    state.withLock { $0.records }(&response.changes)
    return response
  }

  /// Changes the records of each page and of each records response.
  func changeRecords(_ change: @escaping @Sendable (inout [RemoteRecord]) -> Void) {
    state.withLock { $0.records = change }
  }

  /// Responds to `changes` with pages made from the number of the request and its cursor.
  func respondToChanges(_ page: @escaping @Sendable (Int, String?) -> ChangesPage) { state.withLock { $0.page = page } }

  /// The number of `watch` requests.
  var watches: Int { state.withLock { $0.watches } }

  /// Sets the immediate response to `watch`: whether changes are pending.
  func respondToWatch(_ response: @escaping @Sendable () -> Bool) { state.withLock { $0.watch = response } }

  func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    let watch = state.withLock { state in
      state.watches += 1
      return state.watch
    }
    if let watch { return WatchResponse(changed: watch()) }
    return try await remote.watch(cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
  }

  /// Runs a closure before the digests of each comparison.
  func interveneInComparisons(_ body: @escaping @Sendable () throws -> Void) {
    state.withLock { $0.comparison = body }
  }

  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    let before = state.withLock { $0.comparison }
    do { try before() } catch { Issue.record(error) }
    return try await remote.digests(projects: projects)
  }

  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await remote.digests(entityType: entityType, projects: projects)
  }

  func digests(entityType: String, buckets: [String], projects: [String]) async throws(RemoteFailure) -> RecordDigests {
    try await remote.digests(entityType: entityType, buckets: buckets, projects: projects)
  }

  func records(
    entityType: String, uuids: [String], epoch: String?
  ) async throws(RemoteFailure) -> RecordsResponse {
    var response = try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
    state.withLock { $0.records }(&response.changes)
    return response
  }
}
