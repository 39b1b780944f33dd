import CMicroHTTPD
import CipherSQL

/// One request from its first header to the last byte of its answer.
///
/// libmicrohttpd keeps it between two calls as a retained pointer: from the first call about a request until it says that
/// the request is over.
final class ConnectionState: Sendable {
  /// The request without its body.
  let head: Request
  /// The connection that it came on; see ``ConnectionMonitor``.
  let connection: UInt
  /// Whether its connection is closed after the answer.
  let isDraining: Bool
  let start: ContinuousClock.Instant
  private let state: Locked<State>

  private struct State {
    var body: [UInt8] = []
    /// Who asks, where the token was looked at before the body.
    var member: Member?
    /// Whether the request was counted by the rate limit before its body.
    var isCounted = false
    /// What is to be done when the request is over.
    var atEnd: (@Sendable () -> Void)?
    var isBodyKept = false
    /// When the body could begin to come: with the header, or when it was found out where it goes.
    var bodyStart: ContinuousClock.Instant
    /// All bytes of the body so far, wherever they went.
    var received = 0
    var dropped = 0
    var stage = Stage.receiving
    /// Of the route, where it is known before the answer is.
    var pattern: String?
    var response: Response?
    var task: Task<Void, Never>?
    /// The client's socket, while the answer is made: until then nobody else uses or closes it.
    var socket: Int32?
  }

  private enum Stage {
    /// The body is on its way, and collected where somebody reads it.
    case receiving
    /// Where the body goes is being found out.
    case opening
    /// It was found out, and nothing done about it yet.
    case opened(BodyDestination)
    case streaming(any BodySink)
    /// Refused; what still comes is dropped. `isSaid` when the answer has been sent already, past the library.
    case dropping(Response, isSaid: Bool)
    case working
    case answered
  }

  init(head: Request, connection: UInt = 0, isDraining: Bool = false) {
    (self.head, self.connection, self.isDraining) = (head, connection, isDraining)
    start = .now
    state = Locked(State(bodyStart: start))
  }

  // MARK: Admission

  /// What was found out before the body.
  func admit(_ admitted: AdmittedRequest) {
    state.withLock { ($0.member, $0.isCounted) = (admitted.member, admitted.isCounted) }
  }

  /// Who asks, where the token was looked at before the body.
  var member: Member? { state.withLock { $0.member } }

  /// Does something when the request is over.
  func atEnd(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.atEnd = body } }

  // MARK: The body

  /// Somebody is going to read the body. Otherwise it is counted, and nothing of it kept.
  func keepBody() { state.withLock { $0.isBodyKept = true } }

  /// What became of a part of the body.
  enum BodyReceipt {
    case taken
    case full(any BodySink)
    case refused(Response)
    case dropped
    case over
  }

  /// Takes a part of the body.
  /// - Parameter limit: how much is collected or ignored, and how much of a refused body is dropped before the connection is closed.
  func receive(_ part: UnsafeBufferPointer<UInt8>, limit: Int) -> BodyReceipt {
    state.withLock { state in
      switch state.stage {
      case .receiving:
        guard state.received + part.count <= limit else {
          state.body = []
          let refusal = HTTPProblem.bodyTooLarge(limit: limit).response
          state.stage = .dropping(refusal, isSaid: false)
          return .refused(refusal)
        }
        state.received += part.count
        if state.isBodyKept { state.body.append(contentsOf: part) }
        return .taken
      case .streaming(let sink):
        switch sink.take(part) {
        case .taken:
          state.received += part.count
          return .taken
        case .full:
          state.received += part.count
          return .full(sink)
        case .refused(let refusal):
          state.stage = .dropping(refusal, isSaid: false)
          sink.cut()
          return .refused(refusal)
        case .over: return .over
        }
      case .dropping:
        state.dropped += part.count
        return state.dropped > limit ? .over : .dropped
      case .opening, .opened, .working, .answered: return .over
      }
    }
  }

  /// Whether the body comes so slowly that the connection is not to be held any longer: one that is collected has to be
  /// there after a time, one that goes somewhere has to go on from then at a least rate.
  func isTooSlow(_ limits: ServerLimits) -> Bool {
    return state.withLock { state in
      let elapsed = (ContinuousClock.now - state.bodyStart).components.seconds
      guard elapsed >= limits.bodySeconds else { return false }
      guard case .streaming = state.stage else { return true }
      return state.received < Int(elapsed) * limits.uploadBytesPerSecond
    }
  }

  // MARK: Opening

  /// Where the body goes is going to be found out.
  func beginOpening(_ pattern: String) {
    state.withLock { state in
      state.stage = .opening
      state.pattern = pattern
    }
  }

  /// It was found out.
  func opened(_ opening: BodyDestination) {
    state.withLock { state in
      state.stage = .opened(opening)
      state.task = nil
    }
  }

  /// What was found out, once; a sink gets the body from then on.
  func takeOpening() -> BodyDestination? {
    state.withLock { state in
      guard case .opened(let opening) = state.stage else { return nil }
      switch opening {
      case .sink(let sink): (state.stage, state.bodyStart) = (.streaming(sink), .now)
      case .refuse(let refusal): state.stage = .dropping(refusal, isSaid: false)
      }
      return opening
    }
  }

  /// The answer to a refused request was sent past the library.
  func saidRefusal() {
    state.withLock { state in
      if case .dropping(let refusal, _) = state.stage { state.stage = .dropping(refusal, isSaid: true) }
    }
  }

  /// Why the request was refused, and whether the client has been told.
  var refusal: (response: Response, isSaid: Bool)? {
    state.withLock { state in
      if case .dropping(let refusal, let isSaid) = state.stage { return (refusal, isSaid) }
      return nil
    }
  }

  // MARK: Answering

  /// What is to be done when the body is complete.
  enum Work {
    case answer(Request)
    case finish(any BodySink)
  }

  /// What is to be done now that the body is complete, once.
  func takeWork() -> Work? {
    state.withLock { state in
      switch state.stage {
      case .receiving:
        state.stage = .working
        var request = head
        swap(&request.body, &state.body)
        (request.member, request.isCounted) = (state.member, state.isCounted)
        return .answer(request)
      case .streaming(let sink):
        state.stage = .working
        return .finish(sink)
      case .opening, .opened, .dropping, .working, .answered: return nil
      }
    }
  }

  /// The work on the answer, so that it can be ended early.
  /// - Parameter socket: that of the client, where the work is worth nothing without one.
  func work(_ task: Task<Void, Never>, socket: Int32?) {
    state.withLock { state in
      switch state.stage {
      case .opening, .working: (state.task, state.socket) = (task, socket)
      default: return
      }
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

  /// The pattern of the route, where it is known before the answer is.
  var pattern: String? { state.withLock { $0.pattern } }

  /// The request is over: a body that was still coming comes no more.
  func end() {
    let (sink, atEnd) = state.withLock { state -> ((any BodySink)?, (@Sendable () -> Void)?) in
      defer { (state.stage, state.atEnd) = (.answered, nil) }
      switch state.stage {
      case .streaming(let sink), .opened(.sink(let sink)): return (sink, state.atEnd)
      default: return (nil, state.atEnd)
      }
    }
    sink?.cut()
    atEnd?()
  }
}
