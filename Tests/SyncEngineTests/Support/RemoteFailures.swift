import SyncEngine
import HTTPClient

/// Returns the failure that a call of a remote throws, or `nil`.
func remoteFailure<Value>(_ body: () async throws(RemoteFailure) -> Value) async -> RemoteFailure? {
  do throws(RemoteFailure) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
