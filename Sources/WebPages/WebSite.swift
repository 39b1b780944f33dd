import HTTPServer
import Platform

/// A request that the session gate has passed.
package struct WebCall: Sendable {
  /// The path.
  package let path: String
  /// The parameters of the address.
  package let query: [String: String]
  /// The fields of a form; `nil` for a request that changes nothing.
  package let form: [String: String]?
  /// The token for the forms of the response.
  package let token: String

  /// The field of each form that contains the token of the session.
  static let tokenField = "_token"
}

/// The response to a request.
package enum WebResponse: Sendable {
  case page(WebPage)
  /// The browser requests another page instead, so that a reload does not send a form again.
  case redirect(Link)
  /// Content for a browser, such as a picture.
  /// - Parameter fileName: the name under which the browser saves the content; `nil` to show it.
  case content(type: String, [UInt8], fileName: String?)
  /// A file that is made while it is sent.
  /// - Parameter fileName: the name under which the browser saves the file.
  case file(type: String, any BodySource, fileName: String)
}

/// A site for one person on the same machine.
///
/// It listens on a loopback address only. A one-time link gives a browser a cookie, and every request needs the cookie, a `Host` of
/// the site, and for forms an `Origin` of the site and a token. Pages contain no script and may load nothing from elsewhere. Nothing
/// is kept in a cache.
package final class WebSite: Sendable {
  private let responses: SiteResponses
  private let environment: Environment
  private let secrets: SessionGate.Secrets
  private let gate: Locked<SessionGate>
  private let onLock: @Sendable () -> Void
  private let respond: @Sendable (WebCall) async -> WebResponse
  private let server = Locked<HTTPServer?>(nil)

  /// - Parameters:
  ///   - idleMilliseconds: the time without a request after which the site locks itself.
  ///   - onLock: called once when the site has locked itself.
  ///   - respond: responds to a request that may see the site.
  package init(
    frame: PageFrame, idleMilliseconds: Int64, environment: Environment, onLock: @escaping @Sendable () -> Void,
    respond: @escaping @Sendable (WebCall) async -> WebResponse
  ) {
    (responses, self.environment, self.onLock, self.respond) = (SiteResponses(frame), environment, onLock, respond)
    secrets = SessionGate.Secrets(random: environment.random)
    gate = Locked(SessionGate(secrets, idleMilliseconds: idleMilliseconds, now: environment.now))
  }

  /// Listens on a loopback address.
  /// - Parameter listen: `127.0.0.1:PORT`, `[::1]:PORT` or `localhost:PORT`; port 0 lets the system choose.
  /// - Returns: the one-time link.
  /// - Throws: ``HTTPServerError`` with `cannotListen` or `addressInUse`.
  package func start(_ listen: String) throws(HTTPServerError) -> String {
    guard Self.isLoopback(listen) else {
      throw HTTPServerError(
        .cannotListen, "'\(listen)' is not an address of this machine alone",
        hint: "use 127.0.0.1:PORT, [::1]:PORT or localhost:PORT")
    }
    let server = try HTTPServer(
      listen: listen, identity: nil, limits: Self.limits, log: .silent, environment: environment,
      handlers: HTTPServer.Handlers(admit: { self.admit($0) }, respond: { await self.response(to: $0) }))
    self.server.withLock { $0 = server }
    startTask { [weak self, clock = environment.clock] in
      while self?.keepWatch() == true { await clock.sleepThroughCancellation(.seconds(1)) }
    }
    return "http://\(server.address)/open?key=\(secrets.link)"
  }

  /// Ends the site, after the requests in flight.
  package func stop() async {
    let running = server.withLock { server -> HTTPServer? in
      defer { server = nil }
      return server
    }
    await running?.stop()
  }

  /// Locks the site if it was idle too long.
  /// - Returns: `false` when the site is locked or has ended.
  private func keepWatch() -> Bool { decide(.waits) == .pass && server.withLock { $0 != nil } }

  /// Passes an event to the gate, and tells once that the site is locked.
  private func decide(_ event: SessionGate.Event) -> SessionGate.Decision {
    let (decision, hasLocked) = gate.withLock { gate in
      let wasLocked = gate.isLocked
      let decision = gate.decide(event, at: environment.now)
      return (decision, gate.isLocked && !wasLocked)
    }
    if hasLocked { onLock() }
    return decision
  }

  private static var limits: HTTPLimits {
    var limits = HTTPLimits()
    (limits.connections, limits.connectionsPerAddress) = (64, 64)
    (limits.waitingConnections, limits.waitingConnectionsPerAddress) = (32, 32)
    limits.bodyBytes = 1 << 20
    limits.stopSeconds = 2
    return limits
  }

  private static func isLoopback(_ listen: String) -> Bool {
    guard let colon = listen.lastIndex(of: ":") else { return false }
    let host = listen[..<colon]
    if host == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  // MARK: Requests

  /// The browser of the session.
  private struct Visitor: Caller {
    var userId: Int64 { 1 }
    var tokenId: Int64 { 1 }
    var expiresAt: Int64? { nil }
    var accountName: String { "" }
  }

  /// Reads the body of a form only if the browser has a session.
  private func admit(_ request: Request) -> AdmittedRequest {
    guard request.method == "POST" else { return AdmittedRequest(admission: .ignore) }
    guard isOfSite(request), hasOwnOrigin(request), decide(.asks(session: session(request))) == .pass else {
      return AdmittedRequest(admission: .refuse(refusal(.foreignForm)))
    }
    return AdmittedRequest(admission: .collect, caller: Visitor())
  }

  private func response(to request: Request) async -> Response {
    // Another name for this machine could belong to another site (DNS rebinding).
    guard isOfSite(request) else {
      return plain(
        WebPage(
          "This is not the address of the site", status: 421, "<p>Open the link that the program has printed.</p>"))
    }
    switch (request.method, request.path) {
    case ("GET", "/style.css"), ("HEAD", "/style.css"):
      return responses.styleSheet
    case ("GET", "/favicon.ico"): return responses.noIcon
    case ("GET", "/open"):
      switch decide(.opens(link: request.query["key"] ?? "", session: session(request))) {
      case .enter:
        return responses.redirect(Link("/"), cookie: (cookieName, secrets.session))
      case .pass: return responses.redirect(Link("/"))
      case .refuse(let reason): return refusal(reason)
      }
    case ("GET", _), ("HEAD", _):
      if case .refuse(let reason) = decide(.asks(session: session(request))) { return refusal(reason) }
      return await respond(request, form: nil)
    case ("POST", _):
      guard hasOwnOrigin(request) else { return refusal(.foreignForm) }
      let type = request.headers["content-type"]?.prefix { $0 != ";" }.lowercased()
      guard type == "application/x-www-form-urlencoded", let form = FormBody.fields(of: request.body) else {
        return plain(WebPage("The form cannot be read", status: 400, "<p>Send it again from its page.</p>"))
      }
      let event = SessionGate.Event.sends(session: session(request), token: form[WebCall.tokenField])
      if case .refuse(let reason) = decide(event) { return refusal(reason) }
      return await respond(request, form: form)
    default:
      var response = plain(WebPage("This is not possible", status: 405, "<p>The site has only pages and forms.</p>"))
      response.headers.append(("Allow", "GET, HEAD, POST"))
      return response
    }
  }

  private func respond(_ request: Request, form: [String: String]?) async -> Response {
    let call = WebCall(path: request.path, query: request.query, form: form, token: secrets.token)
    switch await respond(call) {
    case .page(let page): return responses.page(page, hasPages: true)
    case .redirect(let link): return responses.redirect(link)
    case .content(let type, let bytes, let fileName):
      var response = SiteResponses.finished(Response(status: 200, contentType: type, body: bytes))
      if let fileName { response.headers.append(("Content-Disposition", Self.disposition(fileName))) }
      return response
    case .file(let type, let source, let fileName):
      var response = SiteResponses.finished(Response(status: 200, contentType: type, body: []))
      response.source = source
      response.headers.append(("Content-Disposition", Self.disposition(fileName)))
      return response
    }
  }

  /// The name of the cookie. Cookies are shared by all ports of a host, so two sites need two names.
  private var cookieName: String {
    let port = server.withLock { $0?.address.split(separator: ":").last.map(String.init) } ?? ""
    return "fieldvault_\(port)"
  }

  private func session(_ request: Request) -> String? { request.cookie(cookieName) }

  /// Whether the request names this site, by its address or as localhost.
  private func isOfSite(_ request: Request) -> Bool {
    guard let address = server.withLock({ $0?.address }), let host = request.headers["host"]?.lowercased() else {
      return false
    }
    let port = address.split(separator: ":").last ?? ""
    return host == address || host == "localhost:\(port)"
  }

  /// Whether a form comes from a page of this site.
  private func hasOwnOrigin(_ request: Request) -> Bool {
    request.headers["origin"]?.lowercased() == "http://\(request.headers["host"]?.lowercased() ?? "")"
  }

  // MARK: Responses

  private func refusal(_ reason: SessionGate.Refusal) -> Response {
    switch reason {
    case .staleLink:
      plain(
        WebPage(
          "This link was used before", status: 403,
          "<p>A link opens one browser, once. Start the program again for a new link.</p>"))
    case .noSession:
      plain(
        WebPage(
          "This browser has no session", status: 403,
          "<p>Open the link that the program has printed, in the browser that you want to use.</p>"))
    case .foreignForm:
      plain(
        WebPage(
          "The form was refused", status: 403,
          "<p>It does not come from a page of this site. Nothing was changed. Load the page and send the form again.</p>"
        ))
    case .locked:
      plain(
        WebPage(
          "Locked", status: 403,
          "<p>The page was idle for too long and was closed. Start the program again for a new link.</p>"))
    }
  }

  private func plain(_ page: WebPage) -> Response { responses.page(page, hasPages: false) }

  /// Returns the header value that names a file (RFC 6266), with every byte beyond letters and digits escaped (RFC 8187).
  private static func disposition(_ name: String) -> String {
    let escaped = Link("").with("", name).text.drop { $0 != "=" }.dropFirst()
    return "attachment; filename*=UTF-8''\(escaped)"
  }
}
