import VaultStore
import SyncModel

extension Round {
  /// Transactions that tidy up at the end of a round. The next round continues.
  private static let mostTidyings = 40

  func action(of task: EndTask) -> RoundTask.Action {
    switch task {
    case .beginRun: .run(.beginRun(cause: cause))
    case .endRun: run.map { .run(.endRun($0, runResult, absentFiles: absentFiles)) } ?? .decide
    case .tidy: .run(.tidy)
    case .close: .decide
    }
  }

  mutating func finish(_ task: EndTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.beginRun, .stored(.begun(let run))):
      self.run = run
      tell(.syncing)
      beginStep()
    case (.endRun, .stored(.ended(let due, let isUntidy))):
      nextDue = due
      if isUntidy, deviceFailure == nil { then([.ending(.tidy)]) }
    case (.endRun, .decided): break
    case (.tidy, .stored(.more(let hasMore))):
      tidyings += 1
      if hasMore, tidyings < Self.mostTidyings { then([.ending(.tidy)]) }
    case (.close, .decided):
      if deviceFailure == nil, run != nil { tell(.synced(report)) }
      end()
    default: failUnexpectedly()
    }
  }

  /// Stores the results and ends.
  mutating func finishRound(_ outcome: RoundOutcome) {
    report.outcome = outcome
    let releases = releaseAll()
    if outcome == .done { report.failure = nil }
    then(releases + [.ending(.endRun), .ending(.close)])
  }

  /// The number of files missing on the server that are requested again early: many in a round that a user requested,
  /// some in a round that pulled records, because the device that has them may have sent the files.
  private var absentFiles: Int {
    guard report.outcome == .done, deviceFailure == nil else { return 0 }
    return cause.isByUser ? 1000 : report.pulled > 0 ? 25 : 0
  }

  private var runResult: SyncTransaction.RunResult {
    var result = SyncTransaction.RunResult()
    result.pushed = report.pushed
    result.merged = report.merged
    result.conflicts = report.conflicts
    result.failed = report.failed
    result.pulled = report.pulled
    result.repaired = report.repaired
    result.bytesSent = report.bytesSent
    result.bytesReceived = report.bytesReceived
    if let deviceFailure {
      result.outcome = "failed"
      result.errorMessage = deviceFailure
      return result
    }
    result.outcome = report.outcome.rawValue
    let lists = report.lists.map { "list of \($0.entityType): \($0.problem ?? "")" }.joined(separator: "; ")
    result.errorMessage = report.failure.map(\.sentence) ?? (lists.isEmpty ? nil : lists)
    return result
  }
}
