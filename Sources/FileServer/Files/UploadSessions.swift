import CipherSQL
import HTTPServer

/// The uploads that are receiving bytes, each from one request.
package final class UploadSessions: Sendable {
  /// The hold of a request on an upload.
  final class Claim: Sendable {
    let id: String
    let userId: Int64
    /// The session; `nil` while the file is being opened.
    fileprivate let session = Locked<UploadSession?>(nil)

    fileprivate init(_ id: String, _ userId: Int64) { (self.id, self.userId) = (id, userId) }

    func attach(_ session: UploadSession) { self.session.withLock { $0 = session } }
  }

  private struct State {
    /// The holder of an upload.
    var holders: [String: Claim] = [:]
    /// The number of unfinished requests, including requests that lost their upload to another one.
    var unfinished = 0
  }

  private let state = Locked(State())
  private let limit: Int
  private let clock: Clock

  /// - Parameter limit: the greatest number of uploads of a user that receive bytes at the same time.
  package init(limit: Int, clock: Clock) { (self.limit, self.clock) = (limit, clock) }

  /// Claims an upload for a request, which has to call ``release(_:)`` at its end.
  func claim(_ id: String, for userId: Int64) throws(HTTPProblem) -> Claim {
    let result = state.withLock { state -> Result<Claim, HTTPProblem> in
      if state.holders[id] != nil { return .failure(.uploadInUse) }
      guard state.holders.values.count(where: { $0.userId == userId }) < limit else {
        return .failure(.tooManyRequests(retryAfter: 1))
      }
      let claim = Claim(id, userId)
      state.holders[id] = claim
      state.unfinished += 1
      return .success(claim)
    }
    return try result.get()
  }

  /// Releases the claim of a finished request.
  func release(_ claim: Claim) {
    free(claim)
    state.withLock { $0.unfinished -= 1 }
  }

  private func free(_ claim: Claim) {
    state.withLock { state in
      if state.holders[claim.id] === claim { state.holders[claim.id] = nil }
    }
  }

  /// Ends the request that holds an upload, after its bytes are flushed. The connection of that request may be dead
  /// without the server having noticed.
  func end(_ id: String) async {
    while let holder = state.withLock({ $0.holders[id] }) {
      if let session = holder.session.withLock({ $0 }) {
        await session.end()
        free(holder)
      } else {
        await pause()
      }
    }
  }

  /// Returns when all requests have finished, or after a timeout: a request that hangs on a disk must not keep the
  /// server from stopping.
  package func waitForAll(atMost duration: Duration) async {
    let end = clock.instant() + duration
    while clock.instant() < end, state.withLock({ $0.unfinished > 0 }) { await pause() }
  }

  /// Waits before the next look. The loop continues after a cancellation, because open files have to be closed.
  private func pause() async { await clock.sleepThroughCancellation(.milliseconds(2)) }
}

extension HTTPProblem {
  static let uploadInUse = HTTPProblem(
    423, "The upload is in use", "another request is sending to it; HEAD ends that request and returns the offset",
    retryAfter: 1)
}
