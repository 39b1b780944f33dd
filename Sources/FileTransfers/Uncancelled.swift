import Platform

/// Runs a body that the cancellation of the caller does not reach, such as a transaction that stores the result of a
/// cancelled request.
package func uncancelled<Success: Sendable>(
  _ body: @escaping @Sendable () async throws -> Success
) async throws -> Success {
  try await startTask(body).value
}
