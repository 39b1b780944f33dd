import CipherSQL

/// A link to a server of which each connection is cut after so many bytes from the client, as long as cuts are left.
package final class CuttingLink: Sendable {
  private struct State {
    var cuts: Int
    var done = 0
    var random = SystemRandomNumberGenerator()
  }

  private let link: RelayLink
  private let state: Locked<State>

  package init(to target: UInt16, cuts: Int, greatest: Int) throws {
    let state = Locked(State(cuts: cuts))
    self.state = state
    link = try RelayLink(to: target) {
      // A request without a body stays below this, so that what is cut is an upload.
      var left = state.withLock { Int.random(in: 1_500...1_500 + greatest, using: &$0.random) }
      func cut(_ count: Int) -> Int {
        left -= count
        guard left <= 0, Self.takeCut(state) else { return count }
        // Some of the last bytes get through.
        return -max(0, count + left)
      }
      return (cut, { $0 })
    }
  }

  package var port: UInt16 { link.port }
  package var cutsDone: Int { state.withLock(\.done) }

  package func close() { link.close() }

  private static func takeCut(_ state: Locked<State>) -> Bool {
    state.withLock { state in
      guard state.cuts > 0 else { return false }
      state.cuts -= 1
      state.done += 1
      return true
    }
  }
}
