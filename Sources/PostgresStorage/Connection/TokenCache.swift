import Platform
import ServerStorage

/// The holders of tokens that a node has looked up. Another node that revokes a token notifies of it; while no notification
/// can arrive, an entry is valid for a second only.
final class TokenCache: Sendable {
  private struct Entry {
    let member: Member
    let expiresAt: Int64?
    let readAt: ContinuousClock.Instant
  }

  private struct State {
    var byHash: [[UInt8]: Entry] = [:]
    var byId: [Int64: Entry] = [:]
    var isListening = false
    /// Changes whenever entries may have become invalid.
    var generation = 0

    func isValid(_ entry: Entry, _ now: (instant: ContinuousClock.Instant, time: Int64)) -> Bool {
      let limit = isListening ? Duration.seconds(60) : .seconds(1)
      return now.instant < entry.readAt + limit && entry.expiresAt.map { now.time < $0 } ?? true
    }
  }

  private let state = Locked(State())
  private let clock: Clock
  private static let limit = 20_000

  init(clock: Clock) { self.clock = clock }

  /// Whether notifications arrive.
  var isListening: Bool { state.withLock { $0.isListening } }

  /// The number to pass to ``keep(_:expiresAt:hash:generation:)``. It is read before the token is looked up, so that no entry
  /// from before a revocation is kept after it.
  var generation: Int { state.withLock { $0.generation } }

  /// Returns the holder of a token; `nil` if it has to be looked up.
  func member(hash: [UInt8]) -> Member? {
    let now = (clock.instant(), clock.now())
    return state.withLock { state in state.byHash[hash].flatMap { state.isValid($0, now) ? $0.member : nil } }
  }

  /// Returns whether a token is known to be valid.
  func isValid(_ tokenId: Int64) -> Bool {
    let now = (clock.instant(), clock.now())
    return state.withLock { state in state.byId[tokenId].map { state.isValid($0, now) } ?? false }
  }

  /// Keeps the holder of a token.
  func keep(_ member: Member, expiresAt: Int64?, hash: [UInt8], generation: Int) {
    let entry = Entry(member: member, expiresAt: expiresAt, readAt: clock.instant())
    state.withLock { state in
      guard state.generation == generation else { return }
      if state.byHash.count >= Self.limit { (state.byHash, state.byId) = ([:], [:]) }
      state.byHash[hash] = entry
      state.byId[member.tokenId] = entry
    }
  }

  /// Forgets all entries, because a token was revoked or notifications may have been missed.
  func clear(isListening: Bool? = nil) {
    state.withLock { state in
      (state.byHash, state.byId) = ([:], [:])
      state.generation += 1
      if let isListening { state.isListening = isListening }
    }
  }
}
