import HTTPServer

/// The counters of a server at one time. They begin at zero when the process starts, and never step back.
package struct FigureReading: Sendable, Equatable {
  /// Requests that have ended, by the first digit of their status.
  package var requests: [Int: Int] = [:]
  /// The number of durations in each bucket of `Histogram.usualBounds`, the last of which has no bound.
  package var durations = [Int](repeating: 0, count: Histogram.usualBounds.count + 1)
  /// The sum of all durations, in seconds.
  package var seconds = 0.0
  /// Pushed operations that were accepted or merged.
  package var accepted = 0
  /// Pushed operations with another result.
  package var refused = 0
  /// Lines of the log about failures.
  package var failures = 0
  /// The requests that wait for a change now.
  package var waiting = 0
  /// The bytes that are left for the data, or the size of the database; `nil` if they are unknown now.
  package var bytes: Int64?

  package init() {}
}

/// The figures of the time between two readings. Without arrays, so that a sample takes the same memory in every server.
package struct FigureSample: Sendable, Equatable {
  /// The end of the time, in milliseconds since 1970-01-01 UTC.
  package var time: Int64
  /// Requests with a status of 2xx or 3xx, 4xx, and 5xx.
  package var succeeded = 0, refusedRequests = 0, failedRequests = 0
  /// The mean duration of a request, in seconds; 0 without a request.
  package var meanSeconds = 0.0
  /// The bound of the bucket below which 99 % of the durations are, in seconds; 0 without a request.
  package var slowSeconds = 0.0
  /// Pushed operations that were accepted or merged, and those with another result.
  package var accepted = 0, refused = 0
  /// Lines of the log about failures.
  package var failures = 0
  /// The greatest number of requests that waited for a change.
  package var waiting = 0
  /// The bytes that are left for the data, or the size of the database; `nil` if they were unknown.
  package var bytes: Int64?

  package init(time: Int64) { self.time = time }

  /// The number of all requests.
  package var requests: Int { succeeded + refusedRequests + failedRequests }

  /// Returns the figures of the time of two samples that follow each other.
  func joined(with later: FigureSample) -> FigureSample {
    var sum = later
    let count = requests + later.requests
    if count > 0 {
      sum.meanSeconds = (meanSeconds * Double(requests) + later.meanSeconds * Double(later.requests)) / Double(count)
    }
    sum.slowSeconds = max(slowSeconds, later.slowSeconds)
    sum.succeeded += succeeded
    sum.refusedRequests += refusedRequests
    sum.failedRequests += failedRequests
    sum.accepted += accepted
    sum.refused += refused
    sum.failures += failures
    sum.waiting = max(waiting, later.waiting)
    sum.bytes = later.bytes ?? bytes
    return sum
  }
}

/// The figures of the last day, a sample a minute. A value without clock: its owner passes each reading with its time.
///
/// It takes at most ``limit`` samples of some 100 bytes: less than 256 KiB.
package struct FigureHistory: Sendable {
  /// The number of samples: a day of minutes.
  package static let limit = 1_440

  /// A ring: the oldest sample is at ``start`` once it is full.
  private var ring: [FigureSample] = []
  private var start = 0
  private var last: FigureReading?

  package init() {}

  /// The samples, oldest first.
  package var samples: [FigureSample] { Array(ring[start...] + ring[..<start]) }

  /// Adds a reading. The first one only begins the first minute.
  /// - Parameter time: in milliseconds since 1970-01-01 UTC.
  package mutating func add(_ reading: FigureReading, at time: Int64) {
    defer { last = reading }
    guard let last else { return }
    let sample = Self.sample(from: last, to: reading, at: time)
    if ring.count < Self.limit {
      ring.append(sample)
    } else {
      ring[start] = sample
      start = (start + 1) % Self.limit
    }
  }

  private static func sample(from last: FigureReading, to next: FigureReading, at time: Int64) -> FigureSample {
    var sample = FigureSample(time: time)
    func requests(_ statuses: Int...) -> Int {
      statuses.reduce(0) { $0 + next.requests[$1, default: 0] - last.requests[$1, default: 0] }
    }
    (sample.succeeded, sample.refusedRequests, sample.failedRequests) = (requests(1, 2, 3), requests(4), requests(5))
    let durations = zip(next.durations, last.durations).map { $0 - $1 }
    let count = durations.reduce(0, +)
    if count > 0 {
      sample.meanSeconds = (next.seconds - last.seconds) / Double(count)
      sample.slowSeconds = bound(of: durations, count)
    }
    (sample.accepted, sample.refused) = (next.accepted - last.accepted, next.refused - last.refused)
    (sample.failures, sample.waiting, sample.bytes) = (next.failures - last.failures, next.waiting, next.bytes)
    return sample
  }

  /// Returns the bound below which 99 % of the durations are. A duration above all bounds counts as the last one.
  private static func bound(of durations: [Int], _ count: Int) -> Double {
    var below = 0
    for (bound, number) in zip(Histogram.usualBounds, durations) {
      below += number
      if below * 100 >= count * 99 { return bound }
    }
    return Histogram.usualBounds.last ?? 0
  }

  /// Returns the newest samples in groups, oldest first.
  /// - Parameters:
  ///   - groups: the greatest number of groups.
  ///   - size: the number of samples of a group. The oldest group may have fewer.
  package func groups(_ groups: Int, of size: Int) -> [FigureSample] {
    let newest = samples.suffix(groups * size)
    return stride(from: newest.endIndex, to: newest.startIndex, by: -size).reversed().compactMap { end in
      let part = newest[max(newest.startIndex, end - size)..<end]
      return part.dropFirst().reduce(part.first) { $0?.joined(with: $1) }
    }
  }
}
