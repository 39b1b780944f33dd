import Platform
import SyncModel
import VaultStore
import WebPages

extension InspectorPages {
  private static let roundLimit = 200

  /// The newest sync rounds, as plots over time and as a table.
  func rounds() throws -> WebPage {
    let runs = try vault.history(limit: Self.roundLimit)
    if runs.isEmpty { return WebPage("Sync rounds", "<p>This vault has never been synced.</p>") }
    func plot(_ title: String, _ format: @escaping @Sendable (Double) -> String, _ value: (SyncRunEntry) -> Double)
      -> HTML
    {
      let bars = runs.reversed().map { run in
        BarPlot.Bar(
          value(run), title: "\(run.startedAt): \(format(value(run))), \(run.outcome)",
          isFailed: !["done", "running"].contains(run.outcome))
      }
      return BarPlot(title, bars, format: format).html
    }
    let count: @Sendable (Double) -> String = { countText(Int($0)) }
    let plots = [
      plot("Records sent", count) { Double($0.pushed) },
      plot("Records received", count) { Double($0.pulled + $0.repaired) },
      plot("Bytes", { byteText(Int($0)) }) { Double($0.bytesSent + $0.bytesReceived) },
      plot("Duration", { "\(countText(Int($0))) ms" }) { Self.milliseconds(of: $0) ?? 0 },
      plot("Conflicts and failures", count) { Double($0.conflicts + $0.failed) },
    ]
    let rows = runs.map { run -> HTML in
      let isBad = !["done", "running"].contains(run.outcome)
      return HTML.row([
        Self.time(run.startedAt), "\(run.cause.replacing("_", with: " "))",
        "<span class=\"\(isBad ? "bad" : "")\">\(run.outcome)</span>", "\(run.pushed)", "\(run.pulled + run.repaired)",
        "\(run.conflicts)", "\(run.failed)", "\(byteText(run.bytesSent + run.bytesReceived))",
        "\(Self.milliseconds(of: run).map { "\(countText(Int($0))) ms" } ?? "")", HTML.value(run.errorMessage ?? ""),
      ])
    }
    let titles: [HTML] = [
      "began (UTC)", "cause", "outcome", "sent", "received", "conflicts", "failed", "bytes", "duration", "message",
    ]
    return WebPage(
      "Sync rounds",
      HTML.section("Over time, the newest at the right", HTML(plots))
        + HTML.section("Rounds", HTML.table("Rounds", titles, rows)))
  }

  private static func milliseconds(of run: SyncRunEntry) -> Double? {
    guard let start = WireTime.milliseconds(run.startedAt), let end = run.endedAt.flatMap({ WireTime.milliseconds($0) })
    else { return nil }
    return Double(end - start)
  }
}
