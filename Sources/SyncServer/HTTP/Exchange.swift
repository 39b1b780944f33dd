import CMicroHTTPD
import CipherSQL

/// One request from its first header to the last byte of its answer.
///
/// libmicrohttpd keeps it between two calls as a retained pointer: from the first call about a request until it says that
/// the request is over.
final class Exchange: Sendable {
  /// The request without its body.
  let head: Request
  let start = ContinuousClock.now
  private let state = Locked(State())

  private struct State {
    var body: [UInt8] = []
    var dropped = 0
    var stage = Stage.receiving
    var response: Response?
    var task: Task<Void, Never>?
    /// The client's socket, while the answer is made: until then nobody else uses or closes it.
    var socket: Int32?
  }

  private enum Stage { case receiving, tooLarge, working, answered }

  init(head: Request) { self.head = head }

  /// What became of a part of the body.
  enum Reception { case taken, overflows, dropped, endless }

  /// Takes a part of the body; a body above the limit is dropped, and cut off when it does not come to an end.
  func receive(_ part: UnsafeBufferPointer<UInt8>, limit: Int) -> Reception {
    state.withLock { state in
      if state.stage == .tooLarge {
        state.dropped += part.count
        return state.dropped > limit ? .endless : .dropped
      }
      guard state.body.count + part.count <= limit else {
        state.stage = .tooLarge
        state.body = []
        return .overflows
      }
      state.body.append(contentsOf: part)
      return .taken
    }
  }

  /// Whether more was sent than is taken.
  var isTooLarge: Bool { state.withLock { $0.stage == .tooLarge } }

  /// The request with its body, once.
  func takeRequest() -> Request? {
    state.withLock { state in
      guard state.stage == .receiving else { return nil }
      state.stage = .working
      var request = head
      swap(&request.body, &state.body)
      return request
    }
  }

  /// The work on the answer, so that it can be ended early.
  func work(_ task: Task<Void, Never>, socket: Int32) {
    state.withLock { state in
      guard state.stage == .working else { return }
      (state.task, state.socket) = (task, socket)
    }
  }

  /// Ends the work when the client has gone. The library does not look at a suspended connection: without this, clients
  /// that come and go while they wait for a change would soon hold all connections.
  func endIfClientIsGone() {
    state.withLock { state in
      guard let socket = state.socket, cmicrohttpd_is_closed(socket) != 0 else { return }
      state.socket = nil
      state.task?.cancel()
    }
  }

  /// Ends the work; an answer comes all the same.
  func cancel() { state.withLock { $0.task }?.cancel() }

  /// The answer is known.
  func answer(_ response: Response) {
    state.withLock { state in
      state.response = response
      state.stage = .answered
      (state.task, state.socket) = (nil, nil)
    }
  }

  /// The answer, when it is known.
  var response: Response? { state.withLock { $0.response } }
}
