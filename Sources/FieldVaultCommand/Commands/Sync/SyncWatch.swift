import Platform
import CommandLineKit
import VaultStore
import SyncEngine

/// Rounds until stopped, one line for each that did something or could not.
struct SyncWatch {
  private let vault: Vault
  private let server: Server
  private let context: CommandContext

  init(_ vault: Vault, _ server: Server, _ context: CommandContext) throws {
    (self.vault, self.server, self.context) = (vault, server, context)
    // The worker would wait for another mode, and the user should see why nothing is synced.
    if try vault.preference(.mode) == "device" { throw SyncRefused.deviceOnly }
  }

  func run(_ request: RoundRequest) throws {
    var sum = SyncReport()
    var rounds = 0
    var trouble: String?
    context.note("Syncing with \(server.url) until stopped (Control-C).")
    do {
      try Waiting.run(taking: { (event: SyncEvent) in
        if case .filesMoved(let files) = event {
          sum.add(files)
          return try tell(files, isNews: false)
        }
        guard case .synced(let report) = event else { return }
        rounds += 1
        sum.add(report)
        try tell(report, isNews: rounds == 1 || report.failure?.message != trouble)
        trouble = report.outcome == .done ? nil : report.failure?.message
      }) { [vault, server] tell in
        let worker = SyncWorker(vault: vault, remote: server.remote, monitor: server.monitor)
        let events = worker.events
        let listening = Task { for await event in events { tell(event) } }
        let result: Result<Void, any Error>
        do {
          result = .success(try await worker.run(request))
        } catch {
          result = .failure(error)
        }
        // Events until now are still shown.
        listening.cancel()
        await listening.value
        try result.get()
      }
    } catch {
      guard error is CancellationError else { throw error }
      try end(sum, rounds)
      context.exitCode = .interrupted
    }
  }

  private func tell(_ report: SyncReport, isNews: Bool) throws {
    let time = RelativeTime.short(RelativeTime.now)
    if let failure = report.failure, report.outcome != .done {
      if report.hasDone {
        try line("\(time)  \(SyncFormat.sentence(about: report, try vault.status(countsRecords: false)))")
      }
      if report.outcome == .paused, try vault.remote()?.url != server.url {
        throw VaultError(
          .refused, "the server of this vault was changed or removed", hint: "restart 'fieldvault sync --watch'")
      }
      // Repeated equal lines would hide other events.
      if isNews { context.note("\(time)  \(failure.message); \(failure.remedy.hint)") }
    } else if report.outcome == .done, isNews || report.hasDone {
      try line("\(time)  \(SyncFormat.sentence(about: report, try vault.status(countsRecords: false)))")
    }
  }

  private func line(_ text: String) throws {
    try context.tell(text)
    try context.output.flush()
  }

  private func end(_ sum: SyncReport, _ rounds: Int) throws {
    let status = try vault.status(countsRecords: false)
    guard context.isJSON else {
      return context.hint("Ran \(rounds == 1 ? "1 sync round" : "\(countText(rounds)) sync rounds").")
    }
    try context.writeJSON { json in
      json.beginObject()
      SyncFormat.members(of: sum, status, &json)
      json.member("rounds", rounds)
      json.endObject()
    }
  }
}
