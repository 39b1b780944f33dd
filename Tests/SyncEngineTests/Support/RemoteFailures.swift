import SyncEngine

/// The error of a call to a remote; `nil` without one.
func remoteFailure<Value>(_ body: () async throws(RemoteFailure) -> Value) async -> RemoteFailure? {
  do throws(RemoteFailure) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
