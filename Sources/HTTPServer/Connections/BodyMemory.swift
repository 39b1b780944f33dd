import Platform

/// Counts the memory of bodies before they are read: for the process and for each user. A body that exceeds a limit is
/// refused, so that stalled requests of one user do not block other users.
package final class BodyMemory: Sendable {
  /// The limit that a body exceeds.
  package enum Refusal: Error, Equatable {
    /// The bodies of the user exceed their limit.
    case user
    /// The bodies of all users exceed their limit.
    case process
  }

  private struct State {
    var total = 0
    var users: [Int64: Int] = [:]
  }

  private let state = Locked(State())
  private let limit: Int
  private let userLimit: Int

  init(limit: Int, userLimit: Int) { (self.limit, self.userLimit) = (limit, userLimit) }

  /// Counts a body until ``release(_:of:)``.
  func reserve(_ bytes: Int, for user: Int64) throws(Refusal) {
    let refusal = state.withLock { state -> Refusal? in
      let own = state.users[user, default: 0]
      if own + bytes > userLimit { return .user }
      if state.total + bytes > limit { return .process }
      state.users[user] = own + bytes
      state.total += bytes
      return nil
    }
    if let refusal { throw refusal }
  }

  /// Releases a body that is no longer in memory.
  func release(_ bytes: Int, of user: Int64) {
    state.withLock { state in
      state.total -= bytes
      let own = state.users[user, default: 0] - bytes
      state.users[user] = own > 0 ? own : nil
    }
  }

  /// The number of counted bytes.
  package var total: Int { state.withLock { $0.total } }
}
