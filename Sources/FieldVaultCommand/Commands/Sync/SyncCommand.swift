import CommandLineKit
import VaultStore
import SyncEngine
import HTTPClient

enum SyncCommand: ProgramCommand {
  static let description = CommandDescription(
    "sync", group: "Sync", summary: "send pending operations and fetch changes",
    discussion: """
      A round fetches changes, sends pending operations and fetches the results. An interruption or an unreachable \
      server loses no data: operations in flight are sent again with the same identifier and take effect once. \
      --watch runs until stopped, with a round after each change on this device or the server and when the network \
      returns. If another process already watches the vault, 'sync' requests a round from it and waits for the result. \
      A comparison that would delete more than 20 records and more than 5 % of all records is held: it deletes nothing \
      until --accept-deletions is given. Exits with 8 if conflicts or failed operations, new or old, need a decision, \
      or if a comparison is held.
      """,
    options: [
      .flag("watch", short: "w", "sync until stopped"),
      .flag("push-only", "send only"),
      .flag("pull-only", "fetch only"),
      .flag("full", "compare all records with the server and sync differences"),
      .flag("accept-deletions", "apply the deletions of a held comparison"),
    ],
    choices: [Choice("push-only", "pull-only")],
    examples: [
      Example("fieldvault sync", "run one round"),
      Example("fieldvault sync --watch", "sync continuously"),
      Example("fieldvault sync --full --json", "compare all records and print JSON"),
      Example("fieldvault sync --accept-deletions", "confirm that the records were deleted on the server"),
    ],
    exitCodes: usual + [.offline, .attention, .noSpace, .credentials, .interrupted])

  static func run(_ context: CommandContext) throws {
    let arguments = context.arguments
    let request = RoundRequest(
      pulls: !arguments.flag("push-only"), pushes: !arguments.flag("pull-only"), isFull: arguments.flag("full"))
    let vault = try context.openVault(separatingReads: true)
    let server = try Server(of: vault)
    guard try vault.remote()?.hasCredentials == true else { throw RemoteFailure.noToken(for: server.url) }
    if arguments.flag("accept-deletions") { try vault.acceptDeletions() }
    if arguments.flag("watch") { return try SyncWatch(vault, server, context).run(request) }
    let line = SyncLine(context)
    let report: SyncReport
    do {
      report = try Waiting.run(taking: { line.show($0, context) }) { tell in
        let worker = SyncWorker(vault: vault, remote: server.remote, monitor: server.monitor)
        let events = worker.events
        let listening = Task { for await event in events { tell(.event(event)) } }
        defer { listening.cancel() }
        return try await worker.syncBeside(request) { tell(.othersWork) }
      }
    } catch {
      line.finish()
      throw error
    }
    line.finish()
    if arguments.flag("accept-deletions") { try vault.forgetAcceptedDeletions() }
    let status = try vault.status(countsRecords: false)
    if context.isJSON {
      try context.writeJSON { json in
        json.beginObject()
        SyncFormat.members(of: report, status, &json)
        json.endObject()
      }
    } else if report.outcome == .done || report.hasDone {
      let files = request.pushes && report.outcome == .done ? try vault.attachmentUsage() : nil
      try context.tell(SyncFormat.sentence(about: report, status, files: files))
    }
    for list in status.lists where !context.isJSON { context.note("List of \(SyncFormat.sentence(about: list))") }
    if report.outcome == .cancelled { throw CancellationError() }
    if report.outcome == .paused, status.heldDeletions != nil {
      if let failure = report.failure { context.note(failure.message) }
      context.hint(SyncFormat.acceptDeletions)
      return context.exitCode = .attention
    }
    if report.outcome != .done { throw report.failure ?? RemoteFailure.unexplained }
    let isIncomplete = status.lists.contains { !$0.isWhole }
    let files = try vault.attachmentUsage()
    let filesFailed = report.filesFailed > 0 || files.failed > 0 || request.pushes && files.delayed > 0
    if status.conflicts > 0 || status.failed > 0 || filesFailed || isIncomplete { context.exitCode = .attention }
  }
}

/// The events of sync during a command.
enum SyncUpdate: Sendable {
  case event(SyncEvent)
  /// Another process syncs the vault and was asked for a round.
  case othersWork
}

/// The progress of one round on a terminal.
final class SyncLine {
  private let line: ProgressLine
  private var done = 0

  init(_ context: CommandContext) {
    line = ProgressLine("Syncing", terminal: context.messages.terminal, isQuiet: context.isQuiet)
  }

  func show(_ news: SyncUpdate, _ context: CommandContext) {
    switch news {
    case .othersWork:
      line.clear()
      context.note("Another process syncs this vault. Requested a round from it.")
    case .event(.pulled(let count, let remaining)):
      advance(by: count)
      if let remaining { line.setTotal(done + Int(clamping: remaining)) }
    case .event(.pushed(let count)): advance(by: count)
    case .event(.fileMoved): advance(by: 1)
    case .event: break
    }
  }

  func finish() { line.finish() }

  private func advance(by count: Int) {
    done += count
    line.advance(by: count)
  }
}

extension RemoteFailure {
  /// The failure of a sync without a stored token, which the server would refuse.
  static func noToken(for url: String) -> RemoteFailure {
    RemoteFailure(
      .pauseCredentials, message: "no token for \(url)",
      hint: "fieldvault remote set \(url) --token-file FILE")
  }

  /// The error of an interrupted round without a reason.
  static let unexplained = RemoteFailure(
    .refused, message: "the round was interrupted", hint: "for details: fieldvault history")
}
