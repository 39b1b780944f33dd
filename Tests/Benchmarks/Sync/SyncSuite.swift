import Foundation

/// How much the benchmarks of sync do. Smaller numbers are for trying them out.
struct SyncSizes {
  var firstSync = 100_000
  var firstSyncSmall = 20_000
  var store = 100_000
  var storeSmall = 1_000
  var pushed = 10_000
  var queue = 200_000
  var photos = 100
  var dependents = 100_000
  var commands = 100_000
  var queuedFew = 5_000
  var queuedMany = 100_000
  /// The number of operations and records for the comparison with an earlier version.
  var compared = 20_000
  var waiting = 1_000
  var accounts = 1_000
  /// The number of records of the larger account whose digests are compared.
  var digested = 50_000

  /// The sizes that the promises name, which take a quarter of an hour.
  static let whole: SyncSizes = {
    var sizes = SyncSizes()
    (sizes.store, sizes.storeSmall, sizes.queue, sizes.photos) = (500_000, 5_000, 1_000_000, 500)
    (sizes.waiting, sizes.queuedMany, sizes.compared) = (10_000, 1_000_000, 100_000)
    (sizes.accounts, sizes.digested) = (10_000, 1_000_000)
    return sizes
  }()
}

/// A line of the report, and whether the promise in it is kept.
struct Finding {
  let text: String
  var holds = true

  /// - Parameter holds: nil where nothing is promised.
  init(_ text: String, holds: Bool?) {
    self.text = text + (holds.map { $0 ? "  holds" : "  TOO SLOW" } ?? "")
    self.holds = holds ?? true
  }
}

/// The parts about sync, with a server process on this machine over loopback.
struct SyncSuite {
  let folder: String
  let rounds: Int
  let sizes: SyncSizes

  /// Prints the results of each part as soon as they exist.
  func run(_ parts: Set<String>) async throws -> Bool {
    var holds = true
    func tell(_ findings: [Finding]) {
      for finding in findings {
        say(finding.text)
        holds = holds && finding.holds
      }
    }
    func has(_ part: String) -> Bool { parts.contains(part) || parts.contains("server") }
    if parts.contains("first") {
      tell(try await FirstSyncBenchmark(folder: folder + "/first", rounds: min(rounds, 3), sizes: sizes).findings())
    }
    if parts.contains("round") {
      tell(try await RoundBenchmark(folder: folder + "/round", rounds: rounds * 6, sizes: sizes).findings())
    }
    if parts.contains("push") {
      tell(try await PushBenchmark(folder: folder + "/push", rounds: min(rounds, 3), count: sizes.pushed).findings())
    }
    if has("compared") {
      tell(
        try BaselineBenchmark(folder: folder + "/compared", rounds: min(rounds, 3), count: sizes.compared).findings())
    }
    if has("queue") { tell(try await QueueBenchmark(folder: folder + "/queued", sizes: sizes).findings()) }
    if has("postgresql") {
      tell(try await PostgresPushBenchmark(folder: folder + "/server", rounds: rounds).findings())
    }
    if has("waiting") {
      tell(try await WaitingBenchmark(folder: folder + "/waiting", devices: sizes.waiting).findings())
    }
    if has("accounts") { try await ServerSuite(folder: folder + "/accounts", sizes: sizes).runAccounts(tell) }
    if has("metrics") { tell(try await MetricsBenchmark(folder: folder + "/metrics", rounds: rounds).findings()) }
    if has("backup") { tell(try await BackupBenchmark(folder: folder + "/backup", rounds: rounds).findings()) }
    if has("fairness") { try await ServerSuite(folder: folder + "/fairness", sizes: sizes).runFairness(tell) }
    if parts.contains("photos") {
      tell(
        try await PhotosBenchmark(folder: folder + "/photos", rounds: min(rounds, 3), count: sizes.photos).findings())
    }
    if parts.contains("batch") {
      tell(try BatchBenchmark(folder: folder + "/batch", rounds: rounds * 40, count: sizes.queue).findings())
    }
    if parts.contains("cascade") {
      tell(try await CascadeBenchmark(folder: folder + "/cascade", count: sizes.dependents).findings())
    }
    if parts.contains("commands") {
      tell(
        try await CommandBenchmark(folder: folder + "/commands", rounds: rounds, count: sizes.commands).findings())
    }
    if parts.contains("slow") { tell(try await SlowClientsBenchmark(folder: folder + "/slow").findings()) }
    if parts.contains("growth") { tell(try GrowthSuite(folder: folder + "/growth").findings()) }
    return holds
  }
}
