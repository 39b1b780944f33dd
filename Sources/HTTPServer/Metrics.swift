import Platform

/// The figures of a server, in the text format of Prometheus (version 0.0.4 of its exposition formats).
///
/// Counters and histograms are changed when something happens; gauges are read when the text is made.
package final class Metrics: Sendable {
  /// A value with the values of the labels of its family.
  package struct Sample: Sendable, Equatable {
    let labels: [String]
    let value: Double

    package init(_ value: Double, _ labels: String...) { (self.value, self.labels) = (value, labels) }

    package init(_ value: some BinaryInteger, _ labels: String...) {
      (self.value, self.labels) = (Double(value), labels)
    }
  }

  private struct Family: Sendable {
    let name: String
    let help: String
    let type: String
    /// Returns the lines of the values; throws if they are unknown now.
    let lines: @Sendable () async throws -> [String]
  }

  private let families = Locked<[Family]>([])

  package init() {}

  /// Adds a count of events.
  package func counter(_ name: String, _ help: String, labels: [String] = []) -> Counter {
    let counter = Counter()
    add(name, help, "counter") {
      counter.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { values, count in
        Self.line(name, labels, values, String(count))
      }
    }
    return counter
  }

  /// Adds a distribution of durations.
  /// - Parameter bounds: the upper bounds of the buckets in seconds, ascending.
  package func histogram(
    _ name: String, _ help: String, labels: [String] = [], bounds: [Double] = Histogram.usualBounds
  ) -> Histogram {
    let histogram = Histogram(bounds: bounds)
    add(name, help, "histogram") {
      histogram.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap { values, series in
        var count = 0
        var lines: [String] = []
        for (bound, number) in zip(bounds.map(Self.text) + ["+Inf"], series.counts) {
          count += number
          lines.append(Self.line(name + "_bucket", labels + ["le"], values + [bound], String(count)))
        }
        lines.append(Self.line(name + "_sum", labels, values, Self.text(series.sum)))
        lines.append(Self.line(name + "_count", labels, values, String(count)))
        return lines
      }
    }
    return histogram
  }

  /// Adds values that are read when the text is made. They are absent while their reading throws.
  package func gauge(
    _ name: String, _ help: String, labels: [String] = [], _ read: @escaping @Sendable () async throws -> [Sample]
  ) {
    add(name, help, "gauge") {
      try await read().map { Self.line(name, labels, $0.labels, Self.text($0.value)) }
    }
  }

  private func add(
    _ name: String, _ help: String, _ type: String, _ lines: @escaping @Sendable () async throws -> [String]
  ) {
    families.withLock { families in
      assert(!families.contains { $0.name == name }, "\(name) has two meanings")
      families.append(Family(name: name, help: help, type: type, lines: lines))
    }
  }

  /// Returns all values, in the order in which their families were added.
  /// - Parameter failed: receives the name of each family whose values are unknown now, and the reason.
  package func text(failed: (_ name: String, any Error) -> Void) async -> String {
    var text = ""
    for family in families.withLock({ $0 }) {
      do {
        let lines = try await family.lines()
        text +=
          "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n# TYPE \(family.name) \(family.type)\n"
        for line in lines { text += line + "\n" }
      } catch {
        failed(family.name, error)
      }
    }
    return text
  }

  private static func line(_ name: String, _ labels: [String], _ values: [String], _ value: String) -> String {
    let pairs = zip(labels, values).map { "\($0)=\"\(escaped($1, quotes: true))\"" }
    return "\(name)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(value)"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Returns a number as text: whole numbers without a fraction, infinity and not-a-number as Prometheus reads them.
  private static func text(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number < 0 ? "-Inf" : "+Inf" }
    return Int64(exactly: number).map(String.init) ?? number.description
  }
}

/// A count of events, by the values of labels.
package final class Counter: Sendable {
  private let counts = Locked<[[String]: Int]>([:])

  fileprivate init() {}

  /// Counts events.
  package func add(_ count: Int = 1, _ labels: String...) { counts.withLock { $0[labels, default: 0] += count } }

  /// The counts by label values.
  package var values: [[String]: Int] { counts.withLock { $0 } }
}

/// A distribution of durations, by the values of labels.
package final class Histogram: Sendable {
  /// The bounds for requests and transactions: from 1 ms to 10 s.
  package static let usualBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  /// The durations of one series.
  package struct Series: Sendable, Equatable {
    /// The number of durations in each bucket, the last of which has no bound.
    package fileprivate(set) var counts: [Int]
    /// The sum of all durations, in seconds.
    package fileprivate(set) var sum = 0.0
  }

  private let bounds: [Double]
  private let series = Locked<[[String]: Series]>([:])

  fileprivate init(bounds: [Double]) { self.bounds = bounds }

  /// Adds a duration.
  package func add(_ duration: Duration, _ labels: String...) {
    let seconds = duration / .seconds(1)
    let bucket = bounds.firstIndex { seconds <= $0 } ?? bounds.count
    series.withLock { series in
      series[labels, default: Series(counts: Array(repeating: 0, count: bounds.count + 1))].counts[bucket] += 1
      series[labels]?.sum += seconds
    }
  }

  /// The series by label values.
  package var values: [[String]: Series] { series.withLock { $0 } }
}
