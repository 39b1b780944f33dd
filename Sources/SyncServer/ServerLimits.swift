import FileServer
import HTTPServer
import SQLCipherStorage

/// The limits of a client.
public struct ServerLimits: Sendable {
  /// The limits of connections and bodies.
  public var http = HTTPLimits()
  /// The limits of files.
  public var files = FileLimits()
  /// The greatest number of operations in a push.
  public var pushOperations = 25
  /// The greatest number of changes in a page.
  public var pageSize = 1_000
  /// The greatest number of UUIDs in a request for records.
  public var recordsPerRequest = 500
  /// The greatest number of buckets in a request for digests of records.
  public var bucketsPerRequest = 64
  /// The greatest number of records in the response to a request for several buckets.
  public var digestsPerRequest = 10_000
  /// The burst of requests per token, before requests are limited.
  public var requestBurst = 1_000
  /// The sustained requests per second and token.
  public var requestsPerSecond = 200
  /// The greatest number of requests that wait for a change at the same time.
  public var waiters = 1_000
  /// The greatest number of one user.
  public var waitersPerUser = 100

  /// The greatest number of records of an account, without deleted ones; `nil` without a limit.
  public var recordsPerAccount: Int?
  /// The greatest number of devices of an account that push within the time of retention; `nil` without a limit.
  public var devicesPerAccount: Int?

  /// The number of accounts whose databases stay open without a request.
  public var openAccounts = EmbeddedStorage.usualOpenAccounts

  /// The limits that `WireFormat.md` and `FileEndpoints.md` state.
  public init() {}
}
