import Dispatch
import Platform

/// Runs blocking or long work on a thread that no task needs.
package func offload<Success: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Success
) async throws(Failure) -> Success {
  if PreferredExecutor.isSingleThread { return try body() }
  let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Success, Failure>, Never>) in
    DispatchQueue.global(qos: .utility).async { continuation.resume(returning: Result(catching: body)) }
  }
  return try result.get()
}
