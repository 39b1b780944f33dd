import HTTPServer
import Platform
import ServerStorage

/// The times at which tokens were used, until they are stored.
///
/// They are stored once a minute, because a write for each request would cost more than most requests. A process that is
/// killed loses the times of its last minute.
final class TokenUses: Sendable {
  /// The time between two writes.
  static let interval = Duration.seconds(60)

  private let times = Locked<[Int64: Int64]>([:])
  private let directory: any AccountDirectory
  private let log: RequestLog

  init(_ directory: any AccountDirectory, _ log: RequestLog) { (self.directory, self.log) = (directory, log) }

  /// Notes that a token was used.
  /// - Parameter time: in milliseconds since 1970-01-01 UTC.
  func note(_ token: Int64, at time: Int64) { times.withLock { $0[token] = time } }

  /// Stores the times. After a failure they are stored with the next ones.
  func store() {
    let taken = times.withLock { times in
      defer { times = [:] }
      return times
    }
    guard !taken.isEmpty else { return }
    do {
      try directory.noteUse(of: taken)
    } catch {
      log.failure("cannot store when tokens were used: \(error)")
      times.withLock { $0.merge(taken, uniquingKeysWith: max) }
    }
  }

  /// Stores the times once a minute, until the task is cancelled.
  func run(_ clock: Clock) async {
    do {
      while true {
        try await clock.sleep(Self.interval)
        await offload { self.store() }
      }
    } catch {
      // The task is cancelled.
    }
  }
}
