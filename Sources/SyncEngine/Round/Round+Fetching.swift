import HTTPClient
import VaultStore
import SyncModel

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
