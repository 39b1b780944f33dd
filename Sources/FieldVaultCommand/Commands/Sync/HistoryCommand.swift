import Platform
import CommandLineKit
import SyncModel
import VaultStore

enum HistoryCommand: ProgramCommand {
  static let description = CommandDescription(
    "history", group: "Sync", summary: "list sync rounds, newest first",
    options: [.value("limit", "N", short: "n", "at most this many", default: "20")] + TableOptions.layout,
    examples: [Example("fieldvault history -n 5", "show the last five rounds")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let limit = try context.arguments.integer("limit", in: 1...) ?? 20
    let runs = try context.openVault().history(limit: limit)
    if context.isJSON { return try context.writeJSON { write(runs, &$0) } }
    if runs.isEmpty { return context.hint("This vault has never been synced.") }
    let times = TimeFormat(context)
    let titles = [
      times.title("began"), "cause", "outcome", "sent", "fetched", "conflicts", "failed", "took", "message",
    ]
    let table = TableOutput(TextTable(titles, optional: ["took"]), context)
    for run in runs {
      try table.add(
        [
          times.text(run.startedAt), run.cause.replacing("_", with: " "), run.outcome, number(run.pushed),
          number(run.pulled + run.repaired), number(run.conflicts), number(run.failed), duration(of: run),
          run.errorMessage ?? "",
        ], style: ["done", "running"].contains(run.outcome) ? nil : .yellow)
    }
    try table.finish()
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

enum TraceCommand: ProgramCommand {
  static let description = CommandDescription(
    "trace", group: "Sync", summary: "print sync activity and pending work as JSON, for support",
    discussion: """
      Prints entity types, counts, states and times. The report contains no record values, names, addresses or server \
      messages; records are numbered.
      """,
    options: [.value("limit", "N", short: "n", "at most this many rounds", default: "200")],
    examples: [Example("fieldvault trace > trace.json", "save a report for support")],
    exitCodes: usual)

  static func run(_ context: CommandContext) throws {
    let rounds = try context.arguments.integer("limit", in: 1...) ?? 200
    try context.output.line(try context.openVault().trace(rounds: rounds))
    context.hint("The report contains no record values, names or addresses. Review it before you share it.")
  }
}
