import CipherSQL
import Foundation
import HTTPClient
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import FileTransfers
@testable import Outbox
@testable import SyncEngine
@testable import VaultStore

/// A server that shows a user only some projects. It stands for the server of an account with memberships.
private final class MemberRemote: Remote {
  private struct State {
    /// The projects that the user sees; `nil` for all.
    var visible: Set<String>?
    /// The records that the user does not see.
    var hidden: Set<String> = []
    /// The projects that each page announces as lost.
    var removed: [String] = []
    /// A project whose older records follow the next page.
    var regained: String?
    /// The record of that project, which the page after that sends.
    var later: [RemoteRecord] = []
    /// The pages that the server still sends before the connection ends.
    var pagesLeft = Int.max
  }

  private let remote: any Remote
  private let state = Locked(State())

  init(_ remote: any Remote) { self.remote = remote }

  func hide(_ project: String, _ records: [String], showing visible: Set<String>) {
    state.withLock { ($0.visible, $0.hidden, $0.removed) = (visible, Set(records + [project]), [project]) }
  }

  func show(_ project: String) { state.withLock { $0 = State(regained: project) } }

  func endConnection(afterPages count: Int) { state.withLock { $0.pagesLeft = count } }

  private func part(_ projects: [String]) -> [String] {
    guard let visible = state.withLock({ $0.visible }) else { return projects }
    let part = projects.isEmpty ? visible : visible.intersection(projects)
    // The nil UUID is no project. An empty list would mean all projects.
    return part.isEmpty ? ["00000000-0000-0000-0000-000000000000"] : part.sorted()
  }

  var capabilities: RemoteCapabilities { remote.capabilities }
  var traffic: TransferCounts { remote.traffic }
  var files: (any FileRemote)? { remote.files }
  func health() async throws(RemoteFailure) -> ServerHealth { try await remote.health() }
  func account() async throws(RemoteFailure) -> AccountInfo { try await remote.account() }
  func watch(
    cursor: String, projects: [String], deviceId: String?, seconds: Int
  ) async throws(RemoteFailure) -> WatchResponse {
    try await remote.watch(cursor: cursor, projects: projects, deviceId: deviceId, seconds: seconds)
  }

  func changes(cursor: String?, limit: Int, projects: [String]) async throws(RemoteFailure) -> ChangesPage {
    let (isOver, regained) = state.withLock { state in
      state.pagesLeft -= 1
      let regained = state.regained
      state.regained = nil
      return (state.pagesLeft < 0, regained)
    }
    if isOver { throw .offline }
    if let regained {
      // Several pages: the first one without the project itself.
      var page = try await remote.changes(cursor: nil, limit: 20, projects: [regained])
      let isProject = { @Sendable (record: RemoteRecord) in record.entityUuid == regained }
      state.withLock { [changes = page.changes] in $0.later = changes.filter(isProject) }
      page.changes.removeAll(where: isProject)
      return page
    }
    var page = try await remote.changes(cursor: cursor, limit: limit, projects: part(projects))
    let (removed, later) = state.withLock { state in
      defer { state.later = [] }
      return (state.removed, state.later)
    }
    page.removedProjects = removed
    page.changes += later
    return page
  }

  func push(_ request: PushRequest) async throws(RemoteFailure) -> PushResponse {
    let hidden = state.withLock { $0.hidden }
    func isHidden(_ operation: PushOperation) -> Bool {
      hidden.contains(operation.entityUuid)
        || operation.patch.fields.members.contains {
          if case .text(let text) = $0.value { hidden.contains(text) } else { false }
        }
    }
    var visible = request
    visible.operations.removeAll(where: isHidden)
    var outcomes: [String: PushResult.Outcome] = [:]
    let response = try await remote.push(visible)
    for result in response.results { outcomes[result.operationId] = result.outcome }
    let problem = ServerProblem(
      type: ServerProblem.notMember, title: "Not a member of the project", status: 403, detail: "ask a member")
    return PushResponse(
      serverTime: response.serverTime, epoch: response.epoch, cursor: nil,
      results: request.operations.map {
        PushResult(operationId: $0.operationId, outcome: outcomes[$0.operationId] ?? .rejected(problem))
      })
  }

  func digests(projects: [String]) async throws(RemoteFailure) -> EntityDigests {
    var digests = try await remote.digests(projects: part(projects))
    digests.memberProjects = state.withLock { $0.visible }
    return digests
  }

  func digests(entityType: String, projects: [String]) async throws(RemoteFailure) -> BucketDigests {
    try await remote.digests(entityType: entityType, projects: part(projects))
  }

  func digests(entityType: String, buckets: [String], projects: [String]) async throws(RemoteFailure) -> RecordDigests {
    try await remote.digests(entityType: entityType, buckets: buckets, projects: part(projects))
  }

  func records(entityType: String, uuids: [String], epoch: String?) async throws(RemoteFailure) -> RecordsResponse {
    var response = try await remote.records(entityType: entityType, uuids: uuids, epoch: epoch)
    let hidden = state.withLock { $0.hidden }
    response.missing += response.changes.map(\.entityUuid).filter(hidden.contains)
    response.changes.removeAll { hidden.contains($0.entityUuid) }
    return response
  }
}

/// Whole rounds of a device whose user loses a project.
@Suite struct LostProjectTests {
  private let server: LocalServer
  private let one: Device
  private let two: Device
  private let remote: MemberRemote
  private let worker: SyncWorker

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    two = try await Device("ben", at: server)
    remote = MemberRemote(await two.worker.remote)
    worker = SyncWorker(vault: two.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    try await one.write { db in
      for title in ["House", "Barn"] {
        let project = try db.insert(Project(title: title))
        for number in 1...30 { try db.insert(Room(projectId: project.projectId, title: "\(title) \(number)")) }
      }
    }
    try await one.sync()
    _ = try await worker.sync()
  }

  private func uuid(_ title: String) async throws -> String {
    try #require(try await one.value("SELECT uuid FROM OfflineProject WHERE title = \(title)", as: String.self))
  }

  /// Hides the house from the user.
  private func lose() async throws {
    let records = try await one.values(
      """
      SELECT room.uuid FROM OfflineRoom AS room JOIN OfflineProject AS project USING (projectId)
      WHERE project.title = 'House' UNION SELECT uuid FROM OfflinePhoto
      """)
    remote.hide(try await uuid("House"), records, showing: [try await uuid("Barn")])
  }

  private func expectHealth() async throws {
    let catalog = two.vault.syncCatalog
    let violations = try await two.vault.database.read {
      try SyncInvariants(catalog: catalog, connection: $0).violations()
    }
    #expect(violations == [])
    #expect(try await two.values("SELECT \"table\" FROM pragma_foreign_key_check") == [])
  }

  private func expectGone() async throws {
    #expect(try await two.values("SELECT title FROM OfflineProject") == ["Barn"])
    #expect(try await two.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 30)
    #expect(try await two.values("SELECT entityUuid FROM SyncLostProject") == [])
    try await expectHealth()
  }

  @Test("The next sync removes the clean records, the report counts them, and further syncs change nothing")
  func clean() async throws {
    try await lose()
    let report = try await worker.sync()
    #expect(report.lost.removed == 31 && report.lost.kept == [] && report.left == 0 && report.outcome == .done)
    try await expectGone()
    for isFull in [false, true] {
      let again = try await worker.sync(RoundRequest(isFull: isFull))
      #expect(again.lost.removed == 0 && again.repaired == 0 && again.failed == 0)
    }
    try await expectGone()
  }

  @Test("A comparison removes the records and neither holds deletions nor sends a record again")
  func comparison() async throws {
    try await two.write { try $0.execute("UPDATE OfflineRoom SET level = 'unsent' WHERE title = 'House 7'") }
    try await lose()
    let report = try await worker.sync(RoundRequest(isFull: true))
    #expect(report.outcome == .done && report.heldDeletions == nil && report.repaired == 0)
    #expect(report.lost.removed == 29 && report.failed == 1 && report.conflicts == 0 && report.pushed == 0)
    let again = try await worker.sync(RoundRequest(isFull: true))
    #expect(again.repaired == 0 && again.conflicts == 0 && again.lost.removed == 0)
    #expect(
      try await two.values("SELECT title || syncVersion || isDeleted FROM OfflineRoom WHERE title LIKE 'House%'") == [
        "House 710"
      ])
    try await expectHealth()
  }

  @Test("An unsent change fails with the reason, other operations continue, and the record leaves after a discard")
  func discard() async throws {
    try await two.write {
      try $0.execute("UPDATE OfflineRoom SET level = 'unsent' WHERE title IN ('House 7', 'Barn 7')")
    }
    try await lose()
    let report = try await worker.sync()
    #expect(report.failed == 1 && report.pushed == 1 && report.delayed == 0 && report.outcome == .done)
    #expect(
      report.lost.kept == [
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
        KeptRecords(entityType: "Room", reason: .unsentChange, count: 1),
      ])
    let reasons = try await two.values("SELECT errorMessage FROM OfflineSyncQueue WHERE status = 'failed'")
    #expect(reasons.count == 1 && reasons.first?.contains("ask a member to add the user") == true)
    #expect(try await worker.sync().failed == 0)
    try two.discardAll()
    #expect(try await worker.sync().lost.removed == 2)
    try await expectGone()
    try await one.sync()
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE level = 'unsent'") == ["Barn 7"])
  }

  @Test("After the user is a member again, the project returns and a retry sends the change")
  func regained() async throws {
    try await two.write { try $0.execute("UPDATE OfflineRoom SET level = 'unsent' WHERE title = 'House 7'") }
    try await lose()
    #expect(try await worker.sync().failed == 1)
    remote.show(try await uuid("House"))
    #expect(try await worker.sync().lost.removed == 0)
    #expect(try await two.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 60)
    #expect(try await two.values("SELECT entityUuid FROM SyncLostProject") == [])
    #expect(try two.retryOperations() == 1)
    #expect(try await worker.sync().pushed == 1)
    try await one.sync()
    #expect(try await one.values("SELECT title FROM OfflineRoom WHERE level = 'unsent'") == ["House 7"])
    try await expectHealth()
  }

  @Test("A device that stops between two transactions continues with the next sync", arguments: [0, 1, 2, 3])
  func crash(transactions: Int) async throws {
    try await lose()
    let house = try await uuid("House")
    let catalog = two.vault.syncCatalog
    // The page with the announcement is stored, and the program ends after some of the transactions that follow.
    let page = ChangesPage(
      serverTime: 0, epoch: "", changes: [], cursor: "", hasMore: false, remaining: nil, removedProjects: [house])
    try await two.vault.sync { try $0.noteRemovedProjects(in: page) }
    let plan = try await two.vault.database.read { try LeavingReader(catalog, in: $0).plan(.lost) }
    #expect(plan.records.count == 31)
    for part in plan.records.chunks(of: 10).prefix(transactions) {
      let removed = try await two.vault.sync { try $0.leave(Array(part), .lost, since: plan.lastOperation) }
      #expect(removed == 10)
    }
    let report = try await worker.sync()
    #expect(report.lost.removed == 31 - 10 * transactions)
    try await expectGone()
  }

  @Test("A project that returns before its records have left keeps the records of an interrupted pull")
  func interrupted() async throws {
    try await lose()
    // The announcement is stored, and the connection ends before the pull does.
    let house = try await uuid("House")
    let page = ChangesPage(
      serverTime: 0, epoch: "", changes: [], cursor: "", hasMore: true, remaining: nil, removedProjects: [house])
    try await two.vault.sync { try $0.noteRemovedProjects(in: page) }
    remote.endConnection(afterPages: 0)
    #expect(try await worker.sync().outcome == .offline)
    #expect(try await two.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 60)
    remote.show(house)
    remote.endConnection(afterPages: 1)
    #expect(try await worker.sync().outcome == .offline)
    remote.endConnection(afterPages: .max)
    #expect(try await worker.sync().lost.removed == 0)
    #expect(try await two.value("SELECT count(*) FROM OfflineRoom", as: Int.self) == 60)
    #expect(try await two.values("SELECT entityUuid FROM SyncLostProject") == [])
  }

  @Test("A device that follows the lost project keeps following it, and the report names it")
  func followed() async throws {
    let house = try await uuid("House")
    try two.follow(house)
    _ = try await worker.sync()
    try await lose()
    let report = try await worker.sync()
    #expect(report.lost.removed == 31 && report.lost.followed == [house])
    #expect(try await worker.sync().lost.followed == [house])
    #expect(try await two.values("SELECT entityUuid FROM SyncScope") == [house])
    #expect(try await two.values("SELECT title FROM OfflineProject") == [])
    remote.show(house)
    let again = try await worker.sync()
    #expect(again.lost.followed == [] && again.pulled == 31)
    #expect(try await two.values("SELECT title FROM OfflineProject") == ["House"])
  }

  @Test("The files of records that leave are removed, and a file that was not sent stays with its record")
  func files() async throws {
    let house = try await uuid("House")
    func attach(_ name: String) throws -> UUID {
      let path = two.folder.path + "/" + name
      try Data(repeating: 7, count: name.count * 1000).write(to: URL(filePath: path))
      return try two.vault.attach(
        [path], to: try two.vault.entities.entity("Project"), try #require(UUID(uuidString: house)))[0]
    }
    func storedFiles() throws -> Int {
      let root = two.folder.path + "/job.vault/attachments"
      return FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String }.filter { path in
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder) && !isFolder.boolValue
      }.count ?? 0
    }
    _ = try attach("sent.bin")
    #expect(try await worker.sync().filesSent == 1)
    _ = try attach("unsent-file.bin")
    try await two.write {
      try $0.execute(
        "UPDATE AttachmentTransfer SET status = 'failed', scheduledAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 hour')"
      )
    }
    _ = try await worker.sync()
    #expect(try storedFiles() == 2)
    try await one.sync()
    try await lose()
    let report = try await worker.sync()
    #expect(
      report.lost.kept == [
        KeptRecords(entityType: "Photo", reason: .unsentFile, count: 1),
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
      ])
    #expect(try await two.values("SELECT fileName FROM OfflinePhoto") == ["unsent-file.bin"])
    #expect(try storedFiles() == 1)
    #expect(try two.retryTransfers() == 1)
    #expect(try await worker.sync().filesSent == 1)
    _ = try await worker.sync()
    #expect(try storedFiles() == 0)
    try await expectGone()
    let vault = two.folder.path + "/job.vault"
    let diagnosis = try Doctor(path: vault, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }.examine()
    #expect(diagnosis.isOK, "\(diagnosis.findings)")
  }
}

// The synchronous functions of a vault are unavailable in asynchronous code.
extension Device {
  fileprivate func retryOperations() throws -> Int { try vault.retryAll() }

  fileprivate func retryTransfers() throws -> Int { try vault.retryTransfers() }
}
