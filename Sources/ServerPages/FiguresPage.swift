import Platform
import WebPages

extension OperatorPages {
  /// The figures of the last hour or day, as plots and as a table.
  func figures(ofDay isDay: Bool) async -> WebPage {
    let minutes = isDay ? 15 : 1
    let samples = isDay ? facts.history.groups(96, of: minutes) : facts.history.groups(60, of: minutes)
    let spans: HTML = """
      <nav class="pages" aria-label="Time"><a href="\(Link("/figures"))"\(Self.current(!isDay))>Last hour</a>\
      <a href="\(Link("/figures").with("span", "day"))"\(Self.current(isDay))>Last day</a></nav>
      """
    if samples.isEmpty {
      return WebPage("Figures", spans + "<p>The first figures appear a minute after the start.</p>")
    }
    let bytesName = await facts.state().bytesName
    let unit = minutes == 1 ? "minute" : "\(minutes) minutes"
    let count: @Sendable (Double) -> String = { countText(Int($0)) }
    let time: @Sendable (Double) -> String = { "\(countText(Int($0 * 1_000))) ms" }
    func plot(
      _ title: String, _ format: @escaping @Sendable (Double) -> String, isFailure: Bool = false,
      _ value: (FigureSample) -> Double
    ) -> HTML {
      let bars = samples.map { sample in
        BarPlot.Bar(
          value(sample), title: "\(TimestampText.text(sample.time)): \(format(value(sample)))",
          isFailed: isFailure && value(sample) > 0)
      }
      return BarPlot(title, bars, format: format).html
    }
    let plots = [
      plot("Requests with success (2xx, 3xx) per \(unit)", count) { Double($0.succeeded) },
      plot("Refused requests (4xx) per \(unit)", count) { Double($0.refusedRequests) },
      plot("Failed requests (5xx) per \(unit)", count, isFailure: true) { Double($0.failedRequests) },
      plot("Mean duration of a request", time) { $0.meanSeconds },
      plot("99 % of the requests took at most", time) { $0.slowSeconds },
      plot("Accepted operations per \(unit)", count) { Double($0.accepted) },
      plot("Operations that were not accepted per \(unit)", count) { Double($0.refused) },
      plot("Failures in the log per \(unit)", count, isFailure: true) { Double($0.failures) },
      plot("Devices that wait for a change", count) { Double($0.waiting) },
      plot(bytesName, { byteText(Int64($0)) }) { Double($0.bytes ?? 0) },
    ]
    let rows = samples.reversed().map { sample in
      HTML.row([
        Self.time(sample.time), "\(countText(sample.succeeded))", "\(countText(sample.refusedRequests))",
        "\(countText(sample.failedRequests))", "\(time(sample.meanSeconds))", "\(time(sample.slowSeconds))",
        "\(countText(sample.accepted))", "\(countText(sample.refused))", "\(countText(sample.failures))",
        "\(countText(sample.waiting))", "\(sample.bytes.map { byteText($0) } ?? "")",
      ])
    }
    let titles: [HTML] = [
      "until (UTC)", "2xx, 3xx", "4xx", "5xx", "mean", "99 %", "accepted", "not accepted", "failures", "waiting",
      "\(bytesName)",
    ]
    return WebPage(
      "Figures",
      spans + HTML.section("Over time, the newest at the right", HTML(plots))
        + HTML.section("Values, newest first", HTML.table("Values", titles, rows)))
  }

  private static func current(_ isCurrent: Bool) -> HTML { isCurrent ? " aria-current=\"true\"" : "" }
}
