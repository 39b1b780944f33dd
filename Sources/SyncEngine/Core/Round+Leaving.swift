import SyncModel
import VaultStore

/// The state while records of projects leave the device.
struct Leaving: Sendable {
  /// The records that the current pass has removed.
  var removed = 0
  /// Records with unsent changes of projects that the device no longer follows.
  var heldBack = 0
}

extension LeaveTask {
  var action: RoundTask.Action {
    switch self {
    case .begin(let cause): .run(.read(.leaving(cause)))
    case .forgetVersions(let versions): .run(.forgetVersions(versions))
    case .remove(let records, let cause, let last): .run(.leave(records, cause, since: last))
    case .endPass: .decide
    case .end(let cause, let isDone): .run(.endLeaving(cause, isDone: isDone))
    }
  }
}

extension Round {
  /// The most records that one transaction removes.
  static let leftAtOnce = 100

  mutating func finish(_ task: LeaveTask, _ result: RoundTask.Result) {
    switch (task, result) {
    case (.begin(let cause), .stored(.leaving(let plan))):
      leaving.removed = 0
      // The versions first: they are found through records that leave.
      let versions: [RoundTask] = plan.versions.chunks(of: Self.leftAtOnce).map {
        .leaving(.forgetVersions(Array($0)))
      }
      let parts: [RoundTask] = plan.records.chunks(of: Self.leftAtOnce).map {
        .leaving(.remove(Array($0), cause, since: plan.lastOperation))
      }
      then(versions + parts + [.leaving(.endPass(cause, plan))])
    case (.forgetVersions, .stored(.done)): break
    case (.remove(_, let cause, _), .stored(.left(let count))):
      leaving.removed += count
      switch cause {
      case .unfollowed: report.left += count
      case .lost: report.lost.removed += count
      case .revoked: report.revoked.removed += count
      }
    case (.endPass(let cause, let plan), .decided):
      // The rest may have waited for records that have left since.
      if leaving.removed > 0, leaving.removed < plan.records.count { return then([.leaving(.begin(cause))]) }
      endPasses(cause, plan, leaving.removed > 0 ? plan.kept : plan.remaining)
    case (.end(.revoked, _), .stored(.done)): endStep(.removedRecords)
    case (.end, .stored(.done)): break
    default: failUnexpectedly()
    }
  }

  private mutating func endPasses(_ cause: LeavingCause, _ plan: LeavingPlan, _ kept: [KeptRecords]) {
    let unsent = kept.filter { $0.reason != .referenced }.reduce(0) { $0 + $1.count }
    switch cause {
    case .unfollowed: leaving.heldBack = unsent
    case .revoked: report.revoked.kept = kept
    case .lost: (report.lost.kept, report.lost.followed) = (kept, plan.followed)
    }
    then([.leaving(.end(cause, isDone: unsent == 0))])
  }
}
