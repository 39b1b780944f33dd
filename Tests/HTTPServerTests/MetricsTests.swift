import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite struct MetricsTests {
  private struct Unknown: Error {}

  private func text(_ metrics: Metrics) async -> (text: String, failed: [String]) {
    var failed: [String] = []
    let text = await metrics.text { name, _ in failed.append(name) }
    return (text, failed)
  }

  @Test("The text has help, type and values in a fixed order, with escaped labels")
  func format() async {
    let metrics = Metrics()
    let counter = metrics.counter("a_total", "Line one\nand a \\ backslash.", labels: ["route", "status"])
    counter.add(1, "/v1/push", "200")
    counter.add(2, "/v1/changes", "200")
    counter.add(1, "quote \" slash \\ line \n", "404")
    counter.add(1, "/v1/push", "200")
    metrics.gauge("b", "A \"gauge\".") { [.init(1.5)] }
    metrics.gauge("c", "Extremes.", labels: ["of"]) {
      [.init(Double.infinity, "1"), .init(-Double.infinity, "2"), .init(Double.nan, "3"), .init(1 << 40, "4")]
    }
    let found = await text(metrics)
    #expect(found.failed == [])
    #expect(
      found.text == #"""
        # HELP a_total Line one\nand a \\ backslash.
        # TYPE a_total counter
        a_total{route="/v1/changes",status="200"} 2
        a_total{route="/v1/push",status="200"} 2
        a_total{route="quote \" slash \\ line \n",status="404"} 1
        # HELP b A "gauge".
        # TYPE b gauge
        b 1.5
        # HELP c Extremes.
        # TYPE c gauge
        c{of="1"} +Inf
        c{of="2"} -Inf
        c{of="3"} NaN
        c{of="4"} 1099511627776

        """#)
  }

  @Test("A value that cannot be read is absent and reported, and the others are present")
  func unknownValue() async {
    let metrics = Metrics()
    metrics.gauge("a", "One.") { [.init(1)] }
    metrics.gauge("b", "Two.") { throw Unknown() }
    metrics.gauge("c", "Three.") { [] }
    let found = await text(metrics)
    #expect(found.failed == ["b"])
    #expect(found.text == "# HELP a One.\n# TYPE a gauge\na 1\n# HELP c Three.\n# TYPE c gauge\n")
  }

  @Test("The buckets of a histogram contain every duration up to their bound")
  func histogram() async throws {
    for seed in UInt64(1)...50 {
      var random = Seeded(seed)
      let bounds = Set(
        (0..<Int.random(in: 1...8, using: &random)).map { _ in Double.random(in: 0.001...5, using: &random) }
      )
      .sorted()
      let metrics = Metrics()
      let histogram = metrics.histogram("a_seconds", "Durations.", labels: ["route"], bounds: bounds)
      var durations: [Double] = []
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        // Some are exactly a bound, which belongs to its bucket.
        let seconds =
          Bool.random(using: &random)
          ? bounds.randomElement(using: &random) ?? 0 : Double.random(in: 0...8, using: &random)
        let duration = Duration.seconds(seconds)
        durations.append(duration / .seconds(1))
        histogram.add(duration, "/v1/push")
      }
      let lines = await text(metrics).text.split(separator: "\n").map(String.init)
      func value(_ start: String) -> Double? {
        lines.first { $0.hasPrefix(start) }.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
      }
      for bound in bounds {
        let count = durations.count { $0 <= bound }
        #expect(value("a_seconds_bucket{route=\"/v1/push\",le=\"\(bound)\"}") == Double(count), "seed \(seed)")
      }
      #expect(value("a_seconds_bucket{route=\"/v1/push\",le=\"+Inf\"}") == Double(durations.count), "seed \(seed)")
      #expect(value("a_seconds_count{route=\"/v1/push\"}") == Double(durations.count), "seed \(seed)")
      let sum = try #require(value("a_seconds_sum{route=\"/v1/push\"}"))
      #expect(abs(sum - durations.reduce(0, +)) < 1e-9, "seed \(seed)")
    }
  }

  @Test("Counts of several threads are complete")
  func concurrency() async {
    let metrics = Metrics()
    let counter = metrics.counter("a_total", "Events.", labels: ["kind"])
    let histogram = metrics.histogram("b_seconds", "Durations.")
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 {
            counter.add(1, task % 2 == 0 ? "even" : "odd")
            histogram.add(.milliseconds(task))
          }
        }
      }
    }
    #expect(counter.values == [["even"]: 4_000, ["odd"]: 4_000])
    #expect(histogram.values[[]]?.counts.reduce(0, +) == 8_000)
  }
}
