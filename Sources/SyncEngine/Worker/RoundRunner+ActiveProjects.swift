import HTTPClient
import CipherSQL
import VaultStore
import SyncModel

extension RoundRunner {
  /// Follows the projects that are active at the server now, if the device follows the active projects.
  /// - Returns: whether the followed projects changed.
  func followActiveProjects() async throws -> Bool {
    guard remote.capabilities.compares,
      let known = try await vault.database.read({ try SyncSettings.value(.activeProjects, in: $0) })
    else { return false }
    let type = SyncTransaction.scopeEntity
    let there = try await remote.digests(entityType: type, projects: [])
    let mark = there.wire.digest
    if mark == known { return false }
    var uuids: [String] = []
    for bucket in there.buckets.keys.sorted() {
      uuids += try await remote.digests(entityType: type, bucket: bucket, projects: []).records.map(\.entityUuid)
    }
    var active: [String] = []
    let (column, value) = SyncTransaction.activeStatus
    for part in uuids.chunks(of: RecordsRequest.greatestCount) {
      let records = try await remote.records(entityType: type, uuids: Array(part), epoch: nil).changes
      active += records.filter { !$0.state.isDeleted && $0.state.fields[column] == value }.map(\.entityUuid)
    }
    guard active.count <= ChangesPage.greatestProjectCount else {
      throw RemoteFailure(
        .refused,
        message:
          "\(active.count) projects are active, and a device follows \(ChangesPage.greatestProjectCount) at most",
        hint: "fieldvault config set projects all, or the uuids of some")
    }
    let found = active
    try await vault.sync { try $0.follow(active: found, mark: mark) }
    return true
  }
}
