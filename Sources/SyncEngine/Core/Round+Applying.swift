import HTTPClient
import SyncModel
import VaultStore

extension ApplyTask {
  var action: RoundTask.Action {
    switch self {
    case .checkEpoch(let epoch): .run(.read(.isCurrent(epoch: epoch)))
    case .findParents(let records, let withDeleted): .run(.read(.missingParents(records, withDeleted: withDeleted)))
    case .parentRecords(let type, let uuids): .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .apply(let records): .run(.apply(records))
    case .admit(let arrived): .run(.admit(arrived))
    case .endWave: .decide
    }
  }
}

extension Round {
  mutating func finish(_ task: ApplyTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.checkEpoch, .stored(.epoch(let isCurrent))): if !isCurrent { fail(.newEpoch) }
    case (.findParents(_, let withDeleted), .stored(.parents(let parents))):
      let missing = parents.filter { pulling.asked.insert($0.entityUuid).inserted }
      guard !missing.isEmpty else { return }
      then(
        missing.byEntity.flatMap { type, uuids in
          uuids.chunks(of: RecordsRequest.greatestCount).map { .applying(.parentRecords(entityType: type, Array($0))) }
        } + [.applying(.endWave(withDeleted: withDeleted))])
    case (.parentRecords, .responded(.records(let response), _)):
      pulling.wave += response.changes
      then([.applying(.checkEpoch(response.epoch))])
    case (.endWave(let withDeleted), .decided):
      let wave = pulling.wave
      pulling.wave = []
      pulling.waves.append(wave)
      then([.applying(.findParents(wave, withDeleted: withDeleted))])
    case (.apply, .stored(.applied(let counts, let arrived))):
      report.add(counts)
      then(admitting(arrived))
    case (.admit(let uuids), .stored(.applied(let counts, let arrived))):
      report.add(counts)
      // Versions that cannot be stored now are tried again in the next round.
      if arrived == uuids, counts.applied + counts.merged + counts.conflicts == 0 { return }
      then(admitting(arrived))
    default: failUnexpectedly()
    }
  }

  /// Returns the tasks that apply records in transactions of a page's length.
  func applying(_ records: [RemoteRecord]) -> [RoundTask] {
    records.chunks(of: RecordsRequest.greatestCount).map { .applying(.apply(Array($0))) }
  }

  /// Returns the task that applies inbox versions that wait for records that arrived.
  func admitting(_ arrived: [String]) -> [RoundTask] { arrived.isEmpty ? [] : [.applying(.admit(arrived))] }
}

extension Array {
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension FetchTask {
  var action: RoundTask.Action {
    switch self {
    case .account: .ask(.account)
    case .requireHistory(let info): .run(.requireHistory(info))
    case .records(let type, let uuids): .ask(.records(entityType: type, uuids: uuids, epoch: nil))
    case .findParents, .end: .decide
    }
  }
}

extension Round {
  mutating func finish(_ task: FetchTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.account(let type, let uuids), .responded(.account(let info), _)):
      if let failure = RemoteFailure(protocolOf: info) { return fail(failure) }
      fetching = (info, [])
      let requests: [RoundTask] = uuids.chunks(of: RecordsRequest.greatestCount).map {
        .fetching(.records(entityType: type, Array($0)))
      }
      then([.fetching(.requireHistory(info))] + requests + [.fetching(.findParents), .fetching(.end)])
    case (.requireHistory, .stored(.done)): break
    case (.records, .responded(.records(let response), _)):
      fetching?.records += response.changes
      then([.applying(.checkEpoch(response.epoch))])
    case (.findParents, .decided): then([.applying(.findParents(fetching?.records ?? [], withDeleted: true))])
    case (.end, .decided):
      fetched = fetching.map { FetchedRecords(account: $0.account, records: $0.records, parents: pulling.waves) }
      end()
    default: failUnexpectedly()
    }
  }
}
