import SyncModel

/// The reason why a ``TokenProvider`` is asked for a token.
public enum TokenReason: Equatable, Sendable {
  /// No token is stored.
  case missing
  /// The server refused the stored token with status 401. It may have expired or been revoked.
  case refused
}

/// Returns a token of the user, for example from an identity provider; `nil` if the user has none.
///
/// Sync asks for a token when none is stored and when the server refuses the stored one. Requests that are refused at the
/// same time share one call. The token is checked, stored in the vault and used from then on. If the function throws, returns
/// `nil` or the refused token, or takes longer than ``TransportLimits/tokenSeconds``, sync pauses. The text of its error is shown
/// to the user, so it must not contain a token. When sync is cancelled, the task of the call is cancelled.
public typealias TokenProvider = @Sendable (_ reason: TokenReason) async throws -> String?

/// A source of new tokens for a transport.
package struct TokenSource: Sendable {
  /// Returns a new token.
  package let provider: TokenProvider
  /// Checks a new token with a transport that sends it, and stores it in place of the refused one.
  /// - Returns: the stored token, which is another one if the user has set one in the meantime.
  package let accept:
    @Sendable (_ token: String, _ refused: String?, _ transport: HTTPTransport) async throws(TransportFailure) -> String

  package init(
    provider: @escaping TokenProvider,
    accept:
      @escaping @Sendable (
        _ token: String, _ refused: String?, _ transport: HTTPTransport
      ) async throws(TransportFailure) -> String
  ) {
    (self.provider, self.accept) = (provider, accept)
  }
}

/// The responses that refuse the token of a request. All others leave the token as it is.
package struct TokenRefusal: Equatable, Sendable {
  /// The bodies that a refusal may have.
  package enum Body: Sendable {
    /// Only a problem of the wire format, because a page or a text comes from an intermediary such as a captive portal.
    case problem
    /// Any body except an HTML page.
    case noPage
    case any
  }

  package var statuses: Set<Int> = [401]
  package var body = Body.noPage

  package func isMet(by response: HTTPResponse) -> Bool {
    guard statuses.contains(response.status) else { return false }
    return switch body {
    case .problem: ServerProblem(response) != nil
    case .noPage: response.contentType != "text/html"
    case .any: true
    }
  }
}

/// Decides how requests go on whose token is missing or refused: a value that receives events and returns effects, without
/// a clock, a network or a task.
///
/// All requests of a transport share one value, so that requests with the same refused token share one renewal. The outcome
/// of the last renewal is kept for requests that were sent before it.
struct TokenRenewal: Equatable, Sendable {
  /// The input. `call` is the number of the effect ``Effect/ask(call:_:)`` that the event belongs to; an event of an
  /// earlier call changes nothing.
  enum Event: Equatable, Sendable {
    /// A request has no token (`nil`), or the server refused its token. `stored` is the token that is stored now.
    case refused(request: Int, token: String?, stored: String?)
    /// The server refused the token of a repeated request as well.
    case refusedAgain(token: String)
    case provided(call: Int, token: String?)
    case providerFailed(call: Int, message: String)
    case timedOut(call: Int, seconds: Double)
    /// The token was checked, and this one is stored now.
    case accepted(call: Int, token: String)
    /// The token was checked and not stored.
    case rejected(call: Int, TransportFailure)
    /// The task of a waiting request was cancelled.
    case cancelled(request: Int)
    /// A sync round begins.
    case roundBegan
  }

  /// The output.
  enum Effect: Equatable, Sendable {
    /// Ask the provider, and stop waiting for it after a time.
    case ask(call: Int, TokenReason)
    /// Check a token and store it in place of the refused one.
    case check(call: Int, token: String, refused: String?)
    /// Let requests go on.
    case resume([Int], Verdict)
  }

  /// How a request goes on.
  enum Verdict: Equatable, Sendable {
    /// Send it with this token.
    case send(token: String)
    /// There is no other token. The response of the server stands.
    case stand
    /// The request fails.
    case fail(TransportFailure)
  }

  private enum State: Equatable {
    case idle
    case asking(refused: String?)
    case checking(refused: String?)
  }

  /// The outcome of the last renewal.
  private enum Outcome: Equatable {
    case renewed(refused: String?, token: String)
    /// The provider is not asked again for this token until a round begins.
    case failed(refused: String?, Verdict)
  }

  private var state = State.idle
  private var last: Outcome?
  private var call = 0
  private var waiting: [Int] = []

  /// Whether a call is running.
  var isRunning: Bool { state != .idle }

  /// Returns whether a call is the running one.
  func isRunning(_ call: Int) -> Bool { isRunning && call == self.call }

  /// Applies an event.
  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .refused(let request, let token, let stored): return refused(request, token, stored)
    case .refusedAgain(let token):
      if state == .idle { last = .failed(refused: token, .stand) }
      return []
    case .provided(call, let token): return provided(token)
    case .providerFailed(call, let message): return failed(message)
    case .timedOut(call, let seconds):
      return failed("the provider of tokens returned none within \(Int(seconds.rounded(.up))) s")
    case .accepted(call, let token):
      guard case .checking(let refused) = state else { return [] }
      last = .renewed(refused: refused, token: token)
      return end(.send(token: token))
    case .rejected(call, let failure):
      guard case .checking(let refused) = state else { return [] }
      return fail(failure, refused)
    case .cancelled(let request): return cancelled(request)
    case .roundBegan:
      if case .failed = last { last = nil }
      return []
    // Of an earlier call.
    case .provided, .providerFailed, .timedOut, .accepted, .rejected: return []
    }
  }

  private mutating func refused(_ request: Int, _ token: String?, _ stored: String?) -> [Effect] {
    // Another request, another process or the user has replaced the token since the request was sent.
    if let stored, stored != token { return [.resume([request], .send(token: stored))] }
    // The user has logged out.
    if stored == nil, token != nil { return [.resume([request], .stand)] }
    switch (state, last) {
    case (.asking(token), _), (.checking(token), _):
      waiting.append(request)
      return []
    case (_, .renewed(token, let renewed)?) where token != nil: return [.resume([request], .send(token: renewed))]
    case (_, .failed(token, let verdict)?): return [.resume([request], verdict)]
    // The running renewal is for another token, which is not stored any more.
    case (.asking, _), (.checking, _): return [.resume([request], .stand)]
    case (.idle, _):
      call += 1
      state = .asking(refused: token)
      waiting = [request]
      return [.ask(call: call, token == nil ? .missing : .refused)]
    }
  }

  private mutating func provided(_ token: String?) -> [Effect] {
    guard case .asking(let refused) = state else { return [] }
    guard let token, token != refused else {
      last = .failed(refused: refused, .stand)
      return end(.stand)
    }
    guard HTTPTransport.isToken(token) else {
      return failed(
        token.isEmpty
          ? "the provider returned an empty token"
          : "the provider returned a token with white space or characters other than printable ASCII")
    }
    state = .checking(refused: refused)
    return [.check(call: call, token: token, refused: refused)]
  }

  private mutating func failed(_ message: String) -> [Effect] {
    guard case .asking(let refused) = state else { return [] }
    return fail(.noValidToken(detail: message, hint: "no data is lost; the next sync asks for a token again"), refused)
  }

  private mutating func fail(_ failure: TransportFailure, _ refused: String?) -> [Effect] {
    // A server that was not reached says nothing about the token.
    if ResponseClass(failure) == .pauseCredentials { last = .failed(refused: refused, .fail(failure)) }
    return end(.fail(failure))
  }

  private mutating func cancelled(_ request: Int) -> [Effect] {
    guard let index = waiting.firstIndex(of: request) else { return [] }
    waiting.remove(at: index)
    let resume = Effect.resume([request], .fail(.cancelled))
    guard waiting.isEmpty else { return [resume] }
    state = .idle
    return [resume]
  }

  private mutating func end(_ verdict: Verdict) -> [Effect] {
    defer { (state, waiting) = (.idle, []) }
    return [.resume(waiting, verdict)]
  }
}
