import HTTPClient
import VaultStore
import SyncModel

/// The state while the server is identified.
struct Identifying: Sendable {
  var account: (info: AccountInfo, facts: RequestFacts)?
  var identity = ServerIdentity()
  var projects: [String] = []
  var active: [String] = []
}

extension Round {
  /// The most inbox versions that one transaction tries again.
  private static let admittedAtOnce = 250

  func action(of task: IdentifyTask) -> RoundTask.Action {
    switch task {
    case .account: .ask(.account)
    case .identify(let info, let facts): .run(.identify(info, facts))
    case .admitAgain(let place): .run(.admitAgain(from: place, limit: Self.admittedAtOnce))
    case .readActiveProjects: .run(.read(.activeProjects))
    case .projectDigests: .ask(.bucketDigests(entityType: SyncTransaction.scopeEntity, projects: []))
    case .projectBuckets(let buckets):
      .ask(.recordDigests(entityType: SyncTransaction.scopeEntity, buckets: buckets, projects: []))
    case .projectRecords(let uuids): .ask(.records(entityType: SyncTransaction.scopeEntity, uuids: uuids, epoch: nil))
    case .followProjects(let mark) where identifying.active.count <= ChangesPage.greatestProjectCount:
      .run(.follow(active: identifying.active, mark: mark))
    case .listProjects, .followProjects, .end: .decide
    }
  }

  mutating func finish(_ task: IdentifyTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.account, .responded(.account(let info), let facts)):
      if let failure = RemoteFailure(protocolOf: info) { return fail(failure) }
      identifying = Identifying()
      // The projects are chosen only after the server was identified.
      let projects: [RoundTask] = capabilities.compares ? [.identifying(.readActiveProjects)] : []
      identifying.account = (info, facts)
      then([.identifying(.identify(info, facts))] + projects + [.identifying(.end)])
    case (.identify, .stored(.identity(let identity))):
      if let problem = identity.problem {
        let responseClass = problem.isSchema ? ResponseClass.schemaTooOld : .pauseCredentials
        return fail(RemoteFailure(responseClass, message: problem.message, remedy: problem.remedy))
      }
      if identity.isForgetting, let (info, facts) = identifying.account {
        return then([.identifying(.identify(info, facts))])
      }
      identifying.identity = identity
      then(
        (identity.leavesProjects ? [.leaving(.begin(.unfollowed))] : [])
          + (identity.hasKept ? [.identifying(.admitAgain(from: InboxCursor()))] : []))
    case (.admitAgain, .stored(.admittedAgain(let counts, let arrived, let next, let hasMore))):
      report.add(counts)
      then(admitting(arrived) + (hasMore ? [.identifying(.admitAgain(from: next))] : []))
    case (.readActiveProjects, .stored(.activeProjects(let known))):
      if let known { then([.identifying(.projectDigests(known: known))]) }
    case (.projectDigests(let known), .responded(.bucketDigests(let digests), _)):
      let mark = digests.wire.digest
      if mark == known { return }
      (identifying.projects, identifying.active) = ([], [])
      then(
        digests.requests(for: digests.buckets.keys.sorted()).map { .identifying(.projectBuckets($0)) } + [
          .identifying(.listProjects(mark: mark))
        ])
    case (.projectBuckets, .responded(.recordDigests(let digests), _)):
      identifying.projects += digests.records.map(\.entityUuid)
    case (.listProjects(let mark), .decided):
      let parts = identifying.projects.chunks(of: RecordsRequest.greatestCount)
      then(parts.map { .identifying(.projectRecords(Array($0))) } + [.identifying(.followProjects(mark: mark))])
    case (.projectRecords, .responded(.records(let response), _)):
      let (column, value) = SyncTransaction.activeStatus
      identifying.active += response.changes.filter { !$0.state.isDeleted && $0.state.fields[column] == value }
        .map(\.entityUuid)
    case (.followProjects, .stored(.done)):
      // The server is identified again, because the projects decide which records stay.
      if let (info, facts) = identifying.account { then([.identifying(.identify(info, facts))]) }
    case (.followProjects, .decided): fail(.tooManyProjects(identifying.active.count))
    case (.end, .decided):
      let identity = identifying.identity
      report.heldBack += leaving.heldBack
      leaving.heldBack = 0
      if identity.isNewEpoch { return fail(.newEpoch) }
      endStep(.identified(mustReconcile: identity.mustReconcile))
    default: failUnexpectedly()
    }
  }
}

extension RemoteFailure {
  /// Returns the failure of a server with another version of the protocol; `nil` if the versions are equal.
  init?(protocolOf info: AccountInfo) {
    guard info.protocolVersion != WireProtocol.version else { return nil }
    self.init(
      .otherProtocol,
      message:
        "the server uses version \(info.protocolVersion) of the sync protocol, "
        + "this program version \(WireProtocol.version)",
      hint: "update the older of the two; no data is lost")
  }

  fileprivate static func tooManyProjects(_ count: Int) -> RemoteFailure {
    RemoteFailure(
      .refused,
      message: "\(count) projects are active, but a device can follow at most \(ChangesPage.greatestProjectCount)",
      remedy: .followFewerProjects)
  }
}
