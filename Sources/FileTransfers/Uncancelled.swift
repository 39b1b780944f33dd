import Platform

/// Runs a body that the cancellation of the caller does not reach, such as a transaction that stores the result of a
/// cancelled request.
package func uncancelled<Success: Sendable>(
  _ body: @escaping @Sendable () async throws -> Success
) async throws -> Success {
  // Not at the low priority of a background task: the transaction has the one writer.
  try await startTask(priority: .medium, body).value
}
