import FileServer
import HTTPServer

/// The limits of a client.
public struct ServerLimits: Sendable {
  /// The limits of connections and bodies.
  public var http = HTTPLimits()
  /// The limits of files.
  public var files = FileLimits()
  /// Operations in one push.
  public var pushOperations = 25
  /// Changes in one page.
  public var pageSize = 1_000
  /// UUIDs in one request for records.
  public var recordsPerRequest = 500
  /// The burst of requests per token, before requests are limited.
  public var requestBurst = 1_000
  /// The sustained requests per second and token.
  public var requestsPerSecond = 200
  /// Requests that wait for a change at once.
  public var waiters = 1_000

  /// The limits that `WireFormat.md` and `FileEndpoints.md` state.
  public init() {}
}
