import CommandLineSupport
import OfflineStore
import SyncModel

enum HistoryCommand {
  static func run(_ context: CommandContext) throws {
    let limit = try context.arguments.integer("limit", in: 1...) ?? 20
    let runs = try context.openVault().history(limit: limit)
    if context.isJSON { return try context.writeJSON { write(runs, &$0) } }
    if runs.isEmpty { return context.hint("This vault was never synced.") }
    var table = TextTable([
      "began (UTC)", "took", "cause", "outcome", "sent", "fetched", "conflicts", "failed", "message",
    ])
    for run in runs {
      table.add([
        TimeText.short(run.startedAt), duration(of: run), run.cause.replacing("_", with: " "), run.outcome,
        number(run.pushed), number(run.pulled + run.repaired), number(run.conflicts), number(run.failed),
        run.errorMessage ?? "",
      ])
    }
    try context.output.write(
      table.text(for: context.output.terminal) { ["done", "running"].contains(runs[$0].outcome) ? nil : .yellow })
  }

  private static func number(_ count: Int) -> String { count == 0 ? "" : String(count) }

  private static func duration(of run: SyncRunEntry) -> String {
    guard let start = WireTime.milliseconds(run.startedAt), let end = run.endedAt.flatMap({ WireTime.milliseconds($0) })
    else { return "" }
    return durationText(Double(end - start) / 1000)
  }

  private static func write(_ runs: [SyncRunEntry], _ json: inout JSONWriter) {
    json.beginArray()
    for run in runs {
      json.beginObject()
      json.member("runId", Int(run.runId))
      json.member("startedAt", run.startedAt)
      json.member("endedAt", run.endedAt)
      json.member("cause", run.cause)
      json.member("pushed", run.pushed)
      json.member("merged", run.merged)
      json.member("conflicts", run.conflicts)
      json.member("failed", run.failed)
      json.member("pulled", run.pulled)
      json.member("repaired", run.repaired)
      json.member("bytesSent", run.bytesSent)
      json.member("bytesReceived", run.bytesReceived)
      json.member("outcome", run.outcome)
      json.member("errorMessage", run.errorMessage)
      json.endObject()
    }
    json.endArray()
  }
}
