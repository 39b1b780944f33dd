import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The log of a server: one line for each request, without any input of a client.
public struct RequestLog: Sendable {
  private let write: @Sendable (String) -> Void
  private var clock = Clock.system

  /// Creates a log whose lines are passed to a function. Several threads may call it.
  public init(_ write: @escaping @Sendable (String) -> Void) { self.write = write }

  /// A log without output.
  public static let silent = RequestLog { _ in }

  /// Returns the log with the times of a clock.
  package func timed(by clock: Clock) -> RequestLog {
    var log = self
    log.clock = clock
    return log
  }

  /// Logs a request: time, method, the pattern of the route, status, duration, bytes of the response.
  func note(method: String, pattern: String?, status: Int, duration: Duration, bytes: Int) {
    let known: Set<String> = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
    let word = known.contains(method) ? method : "OTHER"
    write("\(now) \(word) \(pattern ?? "-") \(status) \(duration.wholeMilliseconds)ms \(bytes)B")
  }

  /// Logs an internal failure. The text contains no value of a record.
  package func failure(_ text: String) { write("\(now) error: \(text)") }

  private var now: String { TimestampText.text(clock.now()) }
}

extension Duration {
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
