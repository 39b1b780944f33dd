/// Finds what answers a request: by path, then method, then token.
struct Router: Sendable {
  let routes: [Route]
  /// Who a token belongs to; nil for one that is not valid.
  let member: @Sendable (_ token: String) throws -> Member?
  let limiter: RateLimiter
  let log: RequestLog

  /// The answer to a request whose body is not there yet, when it needs none to be refused.
  func refuse(_ request: Request) -> Response? {
    do {
      let (route, _) = try find(request)
      do {
        guard request.method == "POST" else { return nil }
        guard request.isJSON else { throw HTTPProblem.notJSON }
        if case .member = route.access { _ = try authenticate(request) }
        return nil
      } catch {
        return failure(error, pattern: route.pattern)
      }
    } catch {
      return failure(error, pattern: nil)
    }
  }

  /// The answer to a request.
  func answer(_ request: Request) async -> Response {
    do {
      let (route, variables) = try find(request)
      do {
        var response = try await answer(request, route, variables)
        response.pattern = route.pattern
        return response
      } catch {
        return failure(error, pattern: route.pattern)
      }
    } catch {
      return failure(error, pattern: nil)
    }
  }

  private func answer(_ request: Request, _ route: Route, _ variables: [String: String]) async throws -> Response {
    switch route.access {
    case .open(let make): return try await make()
    case .member(let make):
      let member = try authenticate(request)
      if let seconds = limiter.secondsToWait(for: member.userId) {
        throw HTTPProblem.tooManyRequests(retryAfter: seconds)
      }
      if request.method == "POST", !request.isJSON { throw HTTPProblem.notJSON }
      return try await make(RouteCall(request: request, member: member, variables: variables))
    }
  }

  private func find(_ request: Request) throws(HTTPProblem) -> (Route, [String: String]) {
    var methods: [String] = []
    for route in routes {
      guard let variables = route.variables(in: request.path) else { continue }
      if route.method == request.method { return (route, variables) }
      methods.append(route.method)
    }
    throw methods.isEmpty ? .noSuchRoute : .wrongMethod(allowed: methods)
  }

  private func authenticate(_ request: Request) throws -> Member {
    guard let token = request.bearerToken, let member = try member(token) else { throw HTTPProblem.unauthorized }
    return member
  }

  private func failure(_ error: any Error, pattern: String?) -> Response {
    var problem = HTTPProblem.failure
    if let known = error as? HTTPProblem {
      problem = known
    } else {
      // Errors of the rooms below name columns and rules, never values.
      log.failure("\(pattern ?? "-"): \(error)")
    }
    var response = problem.response
    response.pattern = pattern
    return response
  }
}
