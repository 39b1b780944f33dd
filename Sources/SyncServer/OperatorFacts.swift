import FileServer
import HTTPServer
import Platform
import ServerPages
import ServerStorage

/// The facts about a server on its pages for operators.
struct OperatorFacts: ServedFacts {
  let version: String
  let engine: String
  let startedAt: Int64
  let directory: any AccountDirectory
  let storage: any RecordStorage
  let objects: any ObjectDatabase
  let records: SyncService
  let webhook: Webhook?
  let quota: Int64
  let sampler: FigureSampler
  let requestLog: RequestLog

  func state() async -> NodeState {
    var problem: String?
    do { try await storage.checkReadiness() } catch { problem = "\(error)" }
    var lastBackup: Int64?
    do {
      lastBackup = try await offload { [directory] in try directory.lastTime(of: .backedUp) }
    } catch {
      problem = problem ?? "\(error)"
    }
    return NodeState(
      version: version, engine: engine, startedAt: startedAt, problem: problem, lastBackup: lastBackup,
      waiting: records.waitingCount, waitingLimit: records.waitingLimit, usage: storage.usage,
      webhookCalls: webhook?.waitingCount, bytesName: sampler.bytesName, quota: quota)
  }

  func state(of account: AccountName) async throws -> AccountState {
    let (lastSequence, hasJobs) = try await storage.read(account) { (try $0.lastSequence, try $0.hasJobs) }
    return AccountState(
      lastSequence: lastSequence, hasJobs: hasJobs, waiting: records.waitingCount(of: account),
      isWebhookBehind: webhook?.isWaiting(account))
  }

  func usedBytes(of user: AccountUser) async throws -> Int64 {
    let id = user.id
    return try await objects.read(user.account) { try $0.usedBytes(id) }
  }

  var history: FigureHistory { sampler.history }

  func log(_ failure: String) { requestLog.failure(failure) }
}

/// Keeps the figures of the last day, a sample a minute.
final class FigureSampler: Sendable {
  /// The time between two samples.
  static let interval = Duration.seconds(60)

  private let metrics: ServerMetrics
  private let waiting: @Sendable () -> Int
  private let space: ServerMetrics.Space
  private let clock: Clock
  private let log: RequestLog
  private let stored = Locked(FigureHistory())

  init(
    _ metrics: ServerMetrics, waiting: @escaping @Sendable () -> Int, space: ServerMetrics.Space, _ clock: Clock,
    _ log: RequestLog
  ) {
    (self.metrics, self.waiting, self.space) = (metrics, waiting, space)
    (self.clock, self.log) = (clock, log)
    let first = metrics.reading()
    stored.withLock { $0.add(first, at: clock.now()) }
  }

  /// The figures of the last day.
  var history: FigureHistory { stored.withLock { $0 } }

  /// The meaning of the bytes in the figures.
  var bytesName: String {
    switch space {
    case .folder: "Free on the disk"
    case .database: "Size of the database"
    }
  }

  /// Adds a sample once a minute, until the task is cancelled.
  func run() async {
    do {
      while true {
        try await clock.sleep(Self.interval)
        var reading = metrics.reading()
        reading.waiting = waiting()
        do { reading.bytes = try await space.bytes() } catch {
          log.failure("cannot read the space of the data: \(error)")
        }
        let (sample, now) = (reading, clock.now())
        stored.withLock { $0.add(sample, at: now) }
      }
    } catch {
      // The task is cancelled.
    }
  }
}
