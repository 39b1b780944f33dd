import SyncModel

/// Finds the handler of a request: by path, then method, then token.
struct Router: Sendable {
  let routes: [Route]
  /// Returns the holder of a token; `nil` for an invalid one.
  let member: @Sendable (_ token: String) throws -> Member?
  /// The rate limits of a user for records, and for files.
  let limiters: (records: RateLimiter, files: RateLimiter)
  let log: RequestLog

  /// Decides about a request whose body has not arrived.
  func admit(_ request: Request) -> AdmittedRequest {
    do {
      let (route, variables) = try find(request)
      do {
        return try admit(request, route, variables)
      } catch {
        return AdmittedRequest(admission: .refuse(failure(error, route)))
      }
    } catch {
      return AdmittedRequest(admission: .refuse(failure(error, at: request.path)))
    }
  }

  /// A client shows its token before a body, and is counted before it: nothing of a stranger is read for nothing, nor kept.
  private func admit(_ request: Request, _ route: Route, _ variables: [String: String]) throws -> AdmittedRequest {
    try checkProtocol(of: request, route)
    switch route.access {
    case .open: return AdmittedRequest(admission: .ignore)
    case .upload(let open):
      var request = request
      request.member = try findMember(request)
      let known = request
      return AdmittedRequest(
        admission: .open(pattern: route.pattern) { await self.open(known, route, variables, open) },
        member: request.member)
    case .member:
      guard route.takesBody else {
        // For a request without a body, a missing token is reported in the response.
        let member = try request.announcesBody ? authenticate(request) : findMember(request)
        return AdmittedRequest(admission: .ignore, member: member)
      }
      guard request.isJSON else { throw HTTPProblem.notJSON }
      let member = try authenticate(request)
      try count(member, route)
      return AdmittedRequest(admission: .collect, member: member, isCounted: true)
    }
  }

  /// Returns the response to a request.
  func answer(_ request: Request) async -> Response {
    do {
      let (route, variables) = try find(request)
      do {
        let response = try await answer(request, route, variables)
        return finished(response, route)
      } catch {
        return failure(error, route)
      }
    } catch {
      return failure(error, at: request.path)
    }
  }

  private func answer(_ request: Request, _ route: Route, _ variables: [String: String]) async throws -> Response {
    switch route.access {
    case .open(let make): return try await make()
    case .member(let make): return try await make(try call(request, route, variables))
    case .upload:
      // A streamed request is answered by its sink, unless its token could not be checked before.
      _ = try authenticate(request)
      throw HTTPProblem.failure
    }
  }

  /// Returns the destination of an upload's body, or the refusal.
  private func open(
    _ request: Request, _ route: Route, _ variables: [String: String],
    _ open: @Sendable (RouteCall) async throws -> any BodySink
  ) async -> BodyDestination {
    do {
      let sink = try await open(try call(request, route, variables))
      return .sink(RoutedSink(sink: sink) { response in finished(response, route) })
    } catch {
      return .refuse(failure(error, route))
    }
  }

  /// Lets a request with a valid token pass that keeps to the rules of its route.
  private func call(_ request: Request, _ route: Route, _ variables: [String: String]) throws -> RouteCall {
    try checkProtocol(of: request, route)
    let member = try request.member ?? authenticate(request)
    guard member.role != .admin || route.isForAdmins else { throw HTTPProblem.notForAdmins }
    if !request.isCounted { try count(member, route) }
    switch route.dialect {
    case .json, .fileQuestion: if route.takesBody, !request.isJSON { throw HTTPProblem.notJSON }
    case .tus: try Tus.checkVersion(of: request)
    case .file: break
    }
    return RouteCall(request: request, member: member, variables: variables)
  }

  /// Refuses a device of another version before it has any effect. Files have a contract of their own.
  private func checkProtocol(of request: Request, _ route: Route) throws(HTTPProblem) {
    guard case .member = route.access, route.dialect == .json else { return }
    guard WireProtocol.accepts(request.headers[WireProtocol.header.lowercased()]) else { throw .otherProtocol }
  }

  private func find(_ request: Request) throws(HTTPProblem) -> (Route, [String: String]) {
    var methods: [String] = []
    for route in routes {
      guard let variables = route.variables(in: request.path) else { continue }
      let method = route.dialect == .tus ? Tus.method(of: request) : request.method
      if route.method == method { return (route, variables) }
      methods.append(route.method)
    }
    throw methods.isEmpty ? .noSuchRoute : .wrongMethod(allowed: methods)
  }

  private func authenticate(_ request: Request) throws -> Member {
    guard let member = try findMember(request) else { throw HTTPProblem.unauthorized }
    return member
  }

  private func findMember(_ request: Request) throws -> Member? { try request.bearerToken.flatMap { try member($0) } }

  private func count(_ member: Member, _ route: Route) throws(HTTPProblem) {
    let limiter = route.dialect == .json ? limiters.records : limiters.files
    if let seconds = limiter.secondsToWait(for: member.userId) { throw .tooManyRequests(retryAfter: seconds) }
  }

  // MARK: Answers

  private func finished(_ response: Response, _ route: Route) -> Response {
    var response = response
    response.pattern = route.pattern
    if route.dialect == .tus { response.headers.append((Tus.versionHeader, Tus.version)) }
    return response
  }

  private func failure(_ error: any Error, _ route: Route) -> Response {
    finished(problem(error, route.pattern).response, route)
  }

  /// The response without a matching route. A path of tus keeps its header.
  private func failure(_ error: HTTPProblem, at path: String) -> Response {
    var response = error.response
    if routes.contains(where: { $0.dialect == .tus && $0.variables(in: path) != nil }) {
      response.headers.append((Tus.versionHeader, Tus.version))
    }
    return response
  }

  private func problem(_ error: any Error, _ pattern: String) -> HTTPProblem {
    if let known = error as? HTTPProblem { return known }
    // Errors of the rooms below name columns and rules, never values.
    log.failure("\(pattern): \(error)")
    return HTTPProblem(ofMachine: error) ?? .failure
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
