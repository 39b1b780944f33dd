import ServerStorage

/// The facts about a running server on its pages, beside its directory.
package protocol ServedFacts: Sendable {
  /// Returns the state of this node.
  func state() async -> NodeState
  /// Returns the state of an account at this node.
  /// - Throws: ``ServerError`` if the account cannot be opened.
  func state(of account: AccountName) async throws -> AccountState
  /// Returns the bytes of a user that count towards the quota.
  func usedBytes(of user: AccountUser) async throws -> Int64
  /// The figures of the last day.
  var history: FigureHistory { get }
  /// Writes a failure to the log.
  func log(_ failure: String)
}

/// The state of a node.
package struct NodeState: Sendable {
  /// The version of the program.
  package var version: String
  /// The name of the storage engine.
  package var engine: String
  /// The start of the process, in milliseconds since 1970-01-01 UTC.
  package var startedAt: Int64
  /// The reason why the node cannot execute requests; `nil` if it can.
  package var problem: String?
  /// The time of the last backup by this program, in milliseconds since 1970-01-01 UTC; `nil` without one.
  package var lastBackup: Int64?
  /// The requests that wait for a change, and their greatest number.
  package var waiting: Int, waitingLimit: Int
  /// The use of the limits of the storage.
  package var usage: StorageUsage
  /// The accounts with changes of which the webhook was not told; `nil` without a webhook.
  package var webhookCalls: Int?
  /// The name of ``FigureSample/bytes``, such as "Free on the disk".
  package var bytesName: String
  /// The storage for the files of one user, in bytes.
  package var quota: Int64

  package init(
    version: String, engine: String, startedAt: Int64, problem: String?, lastBackup: Int64?, waiting: Int,
    waitingLimit: Int, usage: StorageUsage, webhookCalls: Int?, bytesName: String, quota: Int64
  ) {
    (self.version, self.engine, self.startedAt, self.problem) = (version, engine, startedAt, problem)
    (self.lastBackup, self.waiting, self.waitingLimit, self.usage) = (lastBackup, waiting, waitingLimit, usage)
    (self.webhookCalls, self.bytesName, self.quota) = (webhookCalls, bytesName, quota)
  }
}

/// The state of an account at a node.
package struct AccountState: Sendable {
  /// The number of the last change.
  package var lastSequence: Int64
  /// Whether dependents of a deleted or restored record still have to follow it.
  package var hasJobs: Bool
  /// The requests that wait for a change.
  package var waiting: Int
  /// Whether the webhook was not told of all changes; `nil` without a webhook.
  package var isWebhookBehind: Bool?

  package init(lastSequence: Int64, hasJobs: Bool, waiting: Int, isWebhookBehind: Bool?) {
    (self.lastSequence, self.hasJobs, self.waiting) = (lastSequence, hasJobs, waiting)
    self.isWebhookBehind = isWebhookBehind
  }
}
