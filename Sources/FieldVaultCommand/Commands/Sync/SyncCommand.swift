import CommandLineKit
import VaultStore
import SyncEngine
import HTTPClient

enum SyncCommand: ProgramCommand {
  static let description = CommandDescription(
    "sync", group: "Sync", summary: "send what waits and fetch what is new",
    discussion: """
      One round: fetch, send, fetch what that changed. Nothing is lost when it is interrupted or the server cannot be \
      reached: what was under way is sent again under the same name, and takes effect once. --watch goes on until it \
      is stopped, and does a round whenever something is written here or there, or the network is back. Where such a \
      process runs already, 'sync' asks it for a round and waits for the end of it. A comparison that would delete more \
      than 20 records and more than 5 % of all is held: it deletes nothing until --accept-deletions. Ends with 8 when \
      conflicts or failed operations, new or old, need a decision, and when a comparison is held.
      """,
    options: [
      .flag("watch", short: "w", "go on until stopped"),
      .flag("push-only", "send, and fetch nothing"),
      .flag("pull-only", "fetch, and send nothing"),
      .flag("full", "compare all records with the server's, and move what differs"),
      .flag("accept-deletions", "delete here what a comparison that was held found missing at the server"),
    ],
    choices: [Choice("push-only", "pull-only")],
    examples: [
      Example("fieldvault sync", "one round"),
      Example("fieldvault sync --watch", "all day"),
      Example("fieldvault sync --full --json", "compare everything, for a program"),
      Example("fieldvault sync --accept-deletions", "the records are really gone at the server"),
    ],
    exitCodes: usual + [.offline, .attention, .noSpace, .credentials, .interrupted])

  static func run(_ context: CommandContext) throws {
    let arguments = context.arguments
    let request = RoundRequest(
      pulls: !arguments.flag("push-only"), pushes: !arguments.flag("pull-only"), isFull: arguments.flag("full"))
    let vault = try context.openVault()
    let server = try Server(of: vault)
    guard try vault.remote()?.hasToken == true else { throw RemoteFailure.noToken(for: server.url) }
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
      context.note("Another process syncs this vault; it was asked for a round.")
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
      .pauseCredentials, message: "there is no token for \(url)",
      hint: "fieldvault remote set \(url) --token-file FILE")
  }

  /// A round that did not come to its end and says nothing about why.
  static let unexplained = RemoteFailure(
    .refused, message: "the round did not come to its end", hint: "fieldvault history shows what is known")
}
