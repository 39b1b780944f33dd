import Platform
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A request that has ended, as logs and metrics see it: without any content.
package struct CompletedRequest: Sendable {
  /// The id of the request, which its response names.
  package let id: String
  /// The method; `OTHER` for a word that is no method of HTTP.
  package let method: String
  /// The pattern of the route; `nil` without a route.
  package let pattern: String?
  /// The status of the response; 499 for a client that disconnected before it, as in other servers.
  package let status: Int
  /// The time from the first header to the end of the response.
  package let duration: Duration
  /// The bytes of the response's body.
  package let bytes: Int
  /// The account of the user; `nil` without a valid token.
  package let account: String?
  /// The device that the request named.
  package let device: String?

  package init(
    id: String, method: String, pattern: String?, status: Int, duration: Duration, bytes: Int, account: String? = nil,
    device: String? = nil
  ) {
    let known: Set<String> = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
    self.method = known.contains(method) ? method : "OTHER"
    (self.id, self.pattern, self.status, self.duration) = (id, pattern, status, duration)
    (self.bytes, self.account, self.device) = (bytes, account, device)
  }
}

/// The log of a server: one line for each request, and for each failure. It has no content of records.
public struct RequestLog: Sendable {
  /// The form of the lines.
  public enum Format: String, Sendable, CaseIterable {
    /// Text for people. It names no account and no device.
    case text
    /// A JSON object in each line.
    case json
  }

  private let write: @Sendable (String) -> Void
  private let format: Format
  private let hasRequests: Bool
  private var clock = Clock.system
  private var failed: @Sendable () -> Void = {}

  /// Creates a log whose lines are passed to a function. Several threads may call it.
  /// - Parameter hasRequests: whether requests that are not slow are logged.
  public init(
    format: Format = .text, hasRequests: Bool = true, _ write: @escaping @Sendable (String) -> Void
  ) {
    (self.format, self.hasRequests, self.write) = (format, hasRequests, write)
  }

  /// A log without output.
  public static let silent = RequestLog { _ in }

  /// Returns the log with the times of a clock.
  /// - Parameter failed: is called for each failure.
  package func timed(by clock: Clock, failed: @escaping @Sendable () -> Void = {}) -> RequestLog {
    var log = self
    (log.clock, log.failed) = (clock, failed)
    return log
  }

  /// Logs a request.
  /// - Parameter isSlow: whether it took longer than the operator expects.
  package func note(_ request: CompletedRequest, isSlow: Bool = false) {
    guard hasRequests || isSlow else { return }
    let milliseconds = request.duration.wholeMilliseconds
    switch format {
    case .text:
      write(
        "\(now) \(isSlow ? "slow: " : "")\(request.method) \(request.pattern ?? "-") \(request.status) "
          + "\(milliseconds)ms \(request.bytes)B")
    case .json:
      write(
        isSlow ? "warning" : "info", isSlow ? "slow request" : "request",
        [
          "account": request.account.map(SyncValue.text), "bytes": .integer(Int64(request.bytes)),
          "device": request.device.map(SyncValue.text), "method": .text(request.method),
          "milliseconds": .integer(milliseconds), "requestId": .text(request.id),
          "route": request.pattern.map(SyncValue.text), "status": .integer(Int64(request.status)),
        ])
    }
  }

  /// Logs an internal failure. The text contains no value of a record.
  /// - Parameter id: the id of the request that failed.
  package func failure(_ text: String, request id: String? = nil) {
    failed()
    switch format {
    case .text: write("\(now) error: \(text)\(id.map { " (request \($0))" } ?? "")")
    case .json: write("error", text, ["requestId": id.map(SyncValue.text)])
    }
  }

  private func write(_ level: String, _ message: String, _ members: [String: SyncValue?]) {
    var line = SyncObject(members.compactMap { name, value in value.map { (name, $0) } })
    line["level"] = .text(level)
    line["message"] = .text(message)
    line["time"] = .text(now)
    write(SyncValue.object(line).json)
  }

  private var now: String { TimestampText.text(clock.now()) }
}

extension Duration {
  var wholeMilliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
