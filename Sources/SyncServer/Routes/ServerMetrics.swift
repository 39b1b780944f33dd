import CipherSQL
import HTTPServer
import Platform
import ServerPages
import ServerStorage
import SyncModel

/// The figures of a server.
package struct ServerMetrics: Sendable {
  /// All figures, as Prometheus reads them.
  let all = Metrics()
  /// The longest expected duration of a request; `nil` without a limit.
  let slowRequest: Duration?
  private let requests: Counter
  private let durations: Histogram
  private let bytes: Counter
  private let slowRequests: Counter
  private let operations: Counter
  private let changes: Counter
  private let failures: Counter
  private let waits: Histogram
  private let holds: Histogram
  private let round = Locked<Int64?>(nil)

  /// - Parameter slowRequest: the longest expected duration of a request; `nil` without a limit.
  package init(version: String, slowRequest: Duration?) {
    self.slowRequest = slowRequest
    all.gauge("fieldvault_build_info", "The version of the program.", labels: ["version"]) { [.init(1, version)] }
    requests = all.counter(
      "fieldvault_requests_total", "Requests that have ended, by method, route and status.",
      labels: ["method", "route", "status"])
    durations = all.histogram(
      "fieldvault_request_duration_seconds",
      "The time from the header of a request to the end of its response, by route. Waiting requests are not included.",
      labels: ["route"])
    bytes = all.counter(
      "fieldvault_response_bytes_total", "Bytes of the bodies of responses, by route.", labels: ["route"])
    slowRequests = all.counter(
      "fieldvault_slow_requests_total", "Requests that took longer than expected, by route.", labels: ["route"])
    operations = all.counter(
      "fieldvault_operations_total", "Pushed operations by result. A repeated operation counts again.",
      labels: ["result"])
    changes = all.counter("fieldvault_changes_total", "Changes of records that this process has committed.")
    failures = all.counter("fieldvault_failures_total", "Lines of the log about failures.")
    waits = all.histogram(
      "fieldvault_write_wait_seconds", "The time that a write waited for other writes of its account.")
    holds = all.histogram(
      "fieldvault_write_hold_seconds", "The time that a transaction kept other writes of its account waiting.")
    failures.add(0)
    changes.add(0)
  }

  /// Counts a request, and returns whether it was slow.
  /// - Parameters:
  ///   - waits: whether the request waits by its nature, as for a change.
  ///   - isTransfer: whether its duration depends on the connection of the client, as that of a file.
  package func count(_ request: CompletedRequest, waits: Bool, isTransfer: Bool) -> Bool {
    let route = request.pattern ?? "none"
    requests.add(1, request.method, route, String(request.status))
    bytes.add(request.bytes, route)
    guard !waits else { return false }
    durations.add(request.duration, route)
    guard let slowRequest, !isTransfer, request.duration > slowRequest else { return false }
    slowRequests.add(1, route)
    return true
  }

  /// Counts the result of an operation.
  package func count(_ outcome: PushResult.Outcome) { operations.add(1, outcome.word) }

  /// Counts the changes of a transaction.
  package func count(_ committed: CommittedChanges) { changes.add(committed.numbers.count) }

  func countFailure() { failures.add() }

  /// Returns the counters of now, without the values that are not counted.
  func reading() -> FigureReading {
    var reading = FigureReading()
    for (labels, count) in requests.values {
      guard let digit = labels.last?.first?.wholeNumberValue else { continue }
      reading.requests[digit, default: 0] += count
    }
    for series in durations.values.values {
      for (bucket, count) in series.counts.enumerated() { reading.durations[bucket] += count }
      reading.seconds += series.sum
    }
    for (labels, count) in operations.values {
      if ["accepted", "merged"].contains(labels.first) {
        reading.accepted += count
      } else {
        reading.refused += count
      }
    }
    reading.failures = failures.values.values.reduce(0, +)
    return reading
  }

  /// Stores the times of a transaction.
  package func count(_ times: WriteTimes) {
    for wait in times.waits { waits.add(wait) }
    holds.add(times.hold)
  }

  /// Stores the wall time of a round of retention.
  func beganRound(at time: Int64) { round.withLock { $0 = time } }

  /// Adds the figures of the data.
  func add(
    _ storage: any RecordStorage, waiting: @escaping @Sendable () -> Int,
    waitingLimit: @escaping @Sendable () -> Int,
    retentionTime: @escaping @Sendable () -> Int64?,
    lastBackup: @escaping @Sendable () throws -> Int64?, space: Space
  ) {
    all.gauge("fieldvault_waiting_requests", "Requests that wait for a change.") { [.init(waiting())] }
    all.gauge("fieldvault_waiting_requests_limit", "The greatest number of requests that wait.") {
      [.init(waitingLimit())]
    }
    switch storage.usage.resource {
    case .accounts:
      all.gauge("fieldvault_open_accounts", "Accounts whose databases are open.") { [.init(storage.usage.open)] }
      all.gauge("fieldvault_open_accounts_limit", "Accounts that stay open without a request.") {
        [.init(storage.usage.limit)]
      }
    case .connections:
      all.gauge("fieldvault_database_connections", "Connections to the database, by use.", labels: ["state"]) {
        let usage = storage.usage
        return [.init(usage.open - usage.used, "idle"), .init(usage.used, "used")]
      }
      all.gauge("fieldvault_database_connections_limit", "The greatest number of connections to the database.") {
        [.init(storage.usage.limit)]
      }
      all.gauge("fieldvault_database_waiting_transactions", "Transactions that wait for a connection.") {
        [.init(storage.usage.waiting)]
      }
    }
    all.gauge(
      "fieldvault_retention_time_seconds", "The time by which old data are removed, in seconds since 1970."
    ) { retentionTime().map { [.init(Double($0) / 1000)] } ?? [] }
    all.gauge(
      "fieldvault_retention_round_seconds",
      "The time at which this process last began to remove old data, in seconds since 1970."
    ) { [round] in round.withLock { $0 }.map { [.init(Double($0) / 1000)] } ?? [] }
    all.gauge(
      "fieldvault_last_backup_seconds", "The time of the last backup by this program, in seconds since 1970."
    ) { try lastBackup().map { [.init(Double($0) / 1000)] } ?? [] }
    switch space {
    case .folder:
      all.gauge("fieldvault_disk_free_bytes", "Bytes that the file system of the data folder has left.") {
        [.init(try await space.bytes())]
      }
    case .database:
      all.gauge("fieldvault_database_bytes", "The size of the database, with all schemas in it.") {
        [.init(try await space.bytes())]
      }
    }
  }

  /// Where the space of the data is measured.
  enum Space: Sendable {
    case folder(String)
    case database(@Sendable () async throws -> Int64)

    /// Returns the bytes that are left, or the size of the database.
    func bytes() async throws -> Int64 {
      switch self {
      case .folder(let path): Int64(try Files.freeBytes(at: path))
      case .database(let size): try await size()
      }
    }
  }

  /// Adds the figures of a server's connections.
  func add(_ http: HTTPServer, limit: Int) {
    all.gauge("fieldvault_connections", "Open connections.") { [weak http] in [.init(http?.connectionCount ?? 0)] }
    all.gauge("fieldvault_connections_limit", "The greatest number of connections.") { [.init(limit)] }
    all.gauge("fieldvault_requests_in_flight", "Requests that have not ended, with those that wait.") { [weak http] in
      [.init(http?.requestCount ?? 0)]
    }
    all.gauge("fieldvault_body_memory_bytes", "Memory for the bodies of requests.") { [weak http] in
      [.init(http?.memory.total ?? 0)]
    }
  }
}

/// The routes of the operator's own address: figures and health, without a token.
struct AdminService: Sendable {
  let metrics: ServerMetrics
  let records: SyncService
  let log: RequestLog

  /// All routes.
  var routes: [Route<Member>] {
    let dialect = RouteDialect(limiter: records.limiter)
    return [
      Route("GET", "/metrics", .open { await self.text() }, dialect),
      Route("GET", "/v1/health", .open { self.records.health() }, dialect),
      Route("GET", "/v1/ready", .open { try await self.records.ready() }, dialect),
    ]
  }

  private func text() async -> Response {
    let text = await metrics.all.text { name, error in log.failure("cannot read \(name): \(error)") }
    return Response(
      status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
  }
}
