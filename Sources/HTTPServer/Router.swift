/// Finds the handler of a request: by path, then method, then token.
package struct Router<User: Caller>: Sendable {
  package let routes: [Route<User>]
  /// Returns the user of a token; `nil` for an invalid one.
  private let user: @Sendable (_ token: String) throws -> User?
  /// Refuses a user without access to a route, and a request of a device without access.
  private let authorize: @Sendable (User, _ pattern: String, Request) throws(HTTPProblem) -> Void
  /// Returns the response to an error of a handler; `nil` for a failure of the server.
  private let problem: @Sendable (any Error) -> HTTPProblem?
  private let log: RequestLog

  package init(
    routes: [Route<User>], log: RequestLog, user: @escaping @Sendable (_ token: String) throws -> User?,
    authorize: @escaping @Sendable (User, _ pattern: String, Request) throws(HTTPProblem) -> Void,
    problem: @escaping @Sendable (any Error) -> HTTPProblem?
  ) {
    (self.routes, self.log) = (routes, log)
    (self.user, self.authorize, self.problem) = (user, authorize, problem)
  }

  /// Decides about a request whose body has not arrived.
  package func admit(_ request: Request) -> AdmittedRequest {
    do {
      let (route, variables) = try find(request)
      do {
        return try admit(request, route, variables)
      } catch {
        return AdmittedRequest(admission: .refuse(failure(error, route, request)))
      }
    } catch {
      return AdmittedRequest(admission: .refuse(failure(error, at: request.path)))
    }
  }

  /// Checks the token and counts the request before the body, so that the server neither reads nor stores a body
  /// without a valid token.
  private func admit(_ request: Request, _ route: Route<User>, _ variables: [String: String]) throws -> AdmittedRequest
  {
    try checkVersion(of: request, route)
    switch route.access {
    case .open: return AdmittedRequest(admission: .ignore)
    case .upload(let open):
      var request = request
      request.caller = try findUser(request)
      let known = request
      return AdmittedRequest(
        admission: .open(pattern: route.pattern) { await self.open(known, route, variables, open) },
        caller: request.caller)
    case .authenticated:
      guard route.takesBody else {
        // For a request without a body, a missing token is reported in the response.
        let user = try request.announcesBody ? authenticate(request) : findUser(request)
        return AdmittedRequest(admission: .ignore, caller: user)
      }
      guard request.isJSON else { throw HTTPProblem.notJSON }
      let user = try authenticate(request)
      try count(user, route)
      return AdmittedRequest(admission: .collect, caller: user, isCounted: true)
    }
  }

  /// Returns the response to a request.
  package func respond(to request: Request) async -> Response {
    do {
      let (route, variables) = try find(request)
      do {
        let response = try await respond(to: request, route, variables)
        return finished(response, route)
      } catch {
        return failure(error, route, request)
      }
    } catch {
      return failure(error, at: request.path)
    }
  }

  private func respond(
    to request: Request, _ route: Route<User>, _ variables: [String: String]
  ) async throws -> Response {
    switch route.access {
    case .open(let make): return try await make()
    case .authenticated(let make): return try await make(try call(request, route, variables))
    case .upload:
      // The sink responds to a streamed request, unless its token could not be checked before.
      _ = try authenticate(request)
      throw HTTPProblem.failure
    }
  }

  /// Returns the destination of an upload's body, or the refusal.
  private func open(
    _ request: Request, _ route: Route<User>, _ variables: [String: String],
    _ open: @Sendable (RouteCall<User>) async throws -> any BodySink
  ) async -> BodyDestination {
    do {
      let sink = try await open(try call(request, route, variables))
      return .sink(RoutedSink(sink: sink) { response in finished(response, route) })
    } catch {
      return .refuse(failure(error, route, request))
    }
  }

  /// Accepts a request with a valid token that follows the rules of its route.
  private func call(_ request: Request, _ route: Route<User>, _ variables: [String: String]) throws -> RouteCall<User> {
    try checkVersion(of: request, route)
    let user = try request.caller as? User ?? authenticate(request)
    try authorize(user, route.pattern, request)
    if !request.isCounted { try count(user, route) }
    if route.takesBody, !request.isJSON { throw HTTPProblem.notJSON }
    try route.dialect.check(request)
    return RouteCall(request: request, caller: user, variables: variables)
  }

  /// Refuses a client of another version before it has any effect.
  private func checkVersion(of request: Request, _ route: Route<User>) throws(HTTPProblem) {
    if case .open = route.access { return }
    try route.dialect.checkVersion(request)
  }

  private func find(_ request: Request) throws(HTTPProblem) -> (Route<User>, [String: String]) {
    var methods: [String] = []
    let path = PathParts(request.path)
    for route in routes {
      guard let variables = route.variables(in: path) else { continue }
      if route.method == route.dialect.method(request) { return (route, variables) }
      methods.append(route.method)
    }
    throw methods.isEmpty ? .noSuchRoute : .wrongMethod(allowed: methods)
  }

  private func authenticate(_ request: Request) throws -> User {
    if let user = try findUser(request) { return user }
    throw request.bearerToken == nil
      ? HTTPProblem.unauthorized : .invalidToken("the token is unknown, revoked or expired")
  }

  private func findUser(_ request: Request) throws -> User? { try request.bearerToken.flatMap { try user($0) } }

  private func count(_ user: User, _ route: Route<User>) throws(HTTPProblem) {
    if let seconds = route.dialect.limiter.secondsToWait(for: user.userId) {
      throw .tooManyRequests(retryAfter: seconds)
    }
  }

  // MARK: Responses

  private func finished(_ response: Response, _ route: Route<User>) -> Response {
    var response = response
    response.pattern = route.pattern
    response.headers += route.dialect.headers
    return response
  }

  private func failure(_ error: any Error, _ route: Route<User>, _ request: Request) -> Response {
    finished(response(to: error, route.pattern, request).response, route)
  }

  /// Returns the response without a matching route. A known path keeps the headers of its dialect.
  private func failure(_ error: HTTPProblem, at path: String) -> Response {
    var response = error.response
    let parts = PathParts(path)
    let route = routes.first { !$0.dialect.headers.isEmpty && $0.variables(in: parts) != nil }
    response.headers += route?.dialect.headers ?? []
    return response
  }

  private func response(to error: any Error, _ pattern: String, _ request: Request) -> HTTPProblem {
    if let known = error as? HTTPProblem { return known }
    // Errors of the handlers name columns and rules, never values.
    log.failure("\(pattern): \(error)", request: request.id)
    return problem(error) ?? .failure
  }
}

/// A sink whose responses get the headers of the route.
private struct RoutedSink: BodySink {
  let sink: any BodySink
  let finished: @Sendable (Response) -> Response

  func take(_ part: UnsafeBufferPointer<UInt8>) -> BodyWriteResult {
    let taking = sink.take(part)
    if case .refused(let response) = taking { return .refused(finished(response)) }
    return taking
  }

  func whenReady(_ ready: @escaping @Sendable () -> Void) { sink.whenReady(ready) }
  func finish() async -> Response { finished(await sink.finish()) }
  func cut() { sink.cut() }
}
