import CMicroHTTPD
import Platform

/// One request, from its first header to the last byte of its response.
///
/// libmicrohttpd keeps it between two calls as a retained pointer: from the first call about a request until it
/// reports its end.
final class ConnectionState: Sendable {
  /// The request without its body.
  let head: Request
  /// The id of the request.
  let id: String
  /// The connection of the request; see ``ConnectionMonitor``.
  let connection: UInt
  /// Whether the connection is closed after the response.
  let isDraining: Bool
  let start: ContinuousClock.Instant
  private let clock: Clock
  private let state: Locked<State>

  private struct State {
    var body: [UInt8] = []
    /// The user, if the token was checked before the body.
    var caller: (any Caller)?
    /// Whether the request was counted by the rate limit before its body.
    var isCounted = false
    /// Called when the request has ended.
    var atEnd: (@Sendable () -> Void)?
    var isBodyKept = false
    /// The time from which the body could arrive: after the header, or after its destination was found.
    var bodyStart: ContinuousClock.Instant
    /// The number of received bytes of the body, for any destination.
    var received = 0
    var dropped = 0
    var stage = Stage.receiving
    /// The pattern of the route, if it is known before the response is.
    var pattern: String?
    var response: Response?
    var task: Task<Void, Never>?
    /// The client's socket while the connection is suspended for the response. No other code uses or closes it then.
    var socket: Int32?
    /// The number of sent bytes of a body that is made while it is sent.
    var sentBytes = 0
  }

  private enum Stage {
    /// The body is being received, and collected if a handler reads it.
    case receiving
    /// The destination of the body is being found.
    case opening
    /// The destination was found, but is not applied yet.
    case opened(BodyDestination)
    case streaming(any BodySink)
    /// Refused; the rest of the body is dropped. `isSaid` if the response was sent already, bypassing the library.
    case dropping(Response, isSaid: Bool)
    case working
    case responded
  }

  init(head: Request, id: String, connection: UInt = 0, isDraining: Bool = false, clock: Clock) {
    var head = head
    head.id = id
    self.head = head
    (self.id, self.connection, self.isDraining, self.clock) = (id, connection, isDraining, clock)
    start = clock.instant()
    state = Locked(State(bodyStart: start))
  }

  // MARK: Admission

  /// Stores the facts that were found before the body.
  func admit(_ admitted: AdmittedRequest) {
    state.withLock { ($0.caller, $0.isCounted) = (admitted.caller, admitted.isCounted) }
  }

  /// The user, if the token was checked before the body.
  var caller: (any Caller)? { state.withLock { $0.caller } }

  /// Sets the closure to call when the request has ended.
  func atEnd(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.atEnd = body } }

  // MARK: The body

  /// Collects the body for a handler. Without this call its bytes are counted and dropped.
  func keepBody() { state.withLock { $0.isBodyKept = true } }

  /// Applies the result of a part of the body.
  enum BodyReceipt {
    case taken
    case full(any BodySink)
    case refused(Response)
    case dropped
    case over
  }

  /// Takes a part of the body.
  /// - Parameter limit: the greatest number of bytes to collect or ignore, and of a refused body to drop before the
  ///   connection is closed.
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
      case .opening, .opened, .working, .responded: return .over
      }
    }
  }

  /// Returns whether the body arrives too slowly to keep the connection. A collected body must be complete after a
  /// timeout. A streamed body must have a minimum rate after that.
  func isTooSlow(_ limits: HTTPLimits) -> Bool {
    return state.withLock { state in
      let elapsed = (clock.instant() - state.bodyStart).components.seconds
      guard elapsed >= limits.bodySeconds else { return false }
      guard case .streaming = state.stage else { return true }
      return state.received < Int(elapsed) * limits.streamBytesPerSecond
    }
  }

  // MARK: Opening

  /// Notes that the destination of the body is being found.
  func beginOpening(_ pattern: String) {
    state.withLock { state in
      state.stage = .opening
      state.pattern = pattern
    }
  }

  /// Stores the destination of the body.
  func opened(_ opening: BodyDestination) {
    state.withLock { state in
      state.stage = .opened(opening)
      state.task = nil
    }
  }

  /// Applies the found facts, once. A sink receives the body from then on.
  func takeOpening() -> BodyDestination? {
    state.withLock { state in
      guard case .opened(let opening) = state.stage else { return nil }
      switch opening {
      case .sink(let sink): (state.stage, state.bodyStart) = (.streaming(sink), clock.instant())
      case .refuse(let refusal): state.stage = .dropping(refusal, isSaid: false)
      }
      return opening
    }
  }

  /// Notes that the response to a refused request was sent, bypassing the library.
  func saidRefusal() {
    state.withLock { state in
      if case .dropping(let refusal, _) = state.stage { state.stage = .dropping(refusal, isSaid: true) }
    }
  }

  /// The reason of the refusal, and whether the client has received it.
  var refusal: (response: Response, isSaid: Bool)? {
    state.withLock { state in
      if case .dropping(let refusal, let isSaid) = state.stage { return (refusal, isSaid) }
      return nil
    }
  }

  // MARK: Responding

  /// Sets the work to do when the body is complete.
  enum Work {
    case respond(Request)
    case finish(any BodySink)
  }

  /// Returns the work to do now that the body is complete, once.
  func takeWork() -> Work? {
    state.withLock { state in
      switch state.stage {
      case .receiving:
        state.stage = .working
        var request = head
        swap(&request.body, &state.body)
        (request.caller, request.isCounted) = (state.caller, state.isCounted)
        return .respond(request)
      case .streaming(let sink):
        state.stage = .working
        return .finish(sink)
      case .opening, .opened, .dropping, .working, .responded: return nil
      }
    }
  }

  /// Sets the work on the response, so that it can be ended early.
  /// - Parameter socket: the client's socket, if the work is useless without the client.
  func work(_ task: Task<Void, Never>, socket: Int32?) {
    state.withLock { state in
      switch state.stage {
      case .opening, .working: (state.task, state.socket) = (task, socket)
      default: return
      }
    }
  }

  /// Ends the work if the client has disconnected. The library does not watch a suspended connection: clients that
  /// connect and disconnect during long polls would soon hold all connections.
  func endIfClientIsGone() {
    let isGone = state.withLock { state in
      guard let socket = state.socket, cmicrohttpd_is_closed(socket) != 0 else { return false }
      state.socket = nil
      return true
    }
    if isGone { cancel() }
  }

  /// Ends the work. A response is sent nevertheless, unless its body is incomplete.
  func cancel() {
    let (task, source) = state.withLock { ($0.task, $0.response?.source) }
    task?.cancel()
    source?.cut()
  }

  // MARK: A body that is made while it is sent

  /// Counts sent bytes of the body.
  func sent(_ bytes: Int) { state.withLock { $0.sentBytes += bytes } }

  /// The number of sent bytes of a body that is made while it is sent.
  var sentBytes: Int { state.withLock { $0.sentBytes } }

  /// Notes that the suspended connection waits for more of the body, or no longer does.
  /// - Parameter socket: the client's socket; `nil` when the connection resumes.
  func waitForBody(socket: Int32?) { state.withLock { $0.socket = socket } }

  /// Stores the response.
  func respond(with response: Response) {
    state.withLock { state in
      state.response = response
      state.stage = .responded
      (state.task, state.socket) = (nil, nil)
    }
  }

  /// The response, if it is known.
  var response: Response? { state.withLock { $0.response } }

  /// The pattern of the route, if it is known before the response is.
  var pattern: String? { state.withLock { $0.pattern } }

  /// Ends the request. An incomplete body of the request or of the response is cut.
  func end() {
    response?.source?.cut()
    let (sink, atEnd) = state.withLock { state -> ((any BodySink)?, (@Sendable () -> Void)?) in
      defer { (state.stage, state.atEnd) = (.responded, nil) }
      switch state.stage {
      case .streaming(let sink), .opened(.sink(let sink)): return (sink, state.atEnd)
      default: return (nil, state.atEnd)
      }
    }
    sink?.cut()
    atEnd?()
  }
}
