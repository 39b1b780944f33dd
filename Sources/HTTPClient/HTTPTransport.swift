import CipherSQL
import SyncModel

/// An HTTP client for one server. It reuses connections. Unlike a browser, it has no cookies, cache or stored
/// credentials, and follows no redirects.
///
/// On Linux it uses libcurl, on Apple's systems URLSession. Foundation's URLSession is not suitable on Linux: a
/// connection that is lost within the response headers ends the whole program there.
public final class HTTPTransport: Sendable {
  /// The address of the server.
  public let address: ServerAddress
  /// The timeouts and the size limit of responses.
  public let limits: TransportLimits

  private let token: @Sendable () throws -> String?
  /// Returns the id of the device for requests with a token.
  private let device: @Sendable () throws -> String?
  private let renewer: TokenRenewer?
  private let clock: Clock
  private let proxies: ProxySettings
  private let backend: any HTTPBackend
  private let counted = Locked(TransferCounts())

  /// The bytes sent and received so far.
  public var traffic: TransferCounts { counted.withLock { $0 } }

  /// Creates a transport.
  ///
  /// Servers on other machines are reached through the proxy of the system's settings. On Linux these are the variables
  /// `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`.
  /// - Parameters:
  ///   - authorities: accepted in addition to the authorities of the system; `nil` for these alone.
  ///   - token: returns the token, or `nil` to send none. Called for each request, so that a new token is used at
  ///     once. If it throws, the request fails with ``TransportFailure/tokenUnavailable``.
  public convenience init(
    address: ServerAddress, limits: TransportLimits = TransportLimits(), authorities: CertificateAuthorities? = nil,
    token: @escaping @Sendable () throws -> String?
  ) {
    self.init(address: address, limits: limits, authorities: authorities, proxies: .system, renewal: nil, token: token)
  }

  /// Creates a transport with other proxies, with the id of a device, or whose token is renewed when it is missing or refused.
  package convenience init(
    address: ServerAddress, limits: TransportLimits, authorities: CertificateAuthorities?, proxies: ProxySettings,
    renewal: TokenSource?, device: @escaping @Sendable () throws -> String? = { nil },
    token: @escaping @Sendable () throws -> String?
  ) {
    #if canImport(Darwin)
      let backend = URLSessionBackend(limits: limits, usesProxies: !address.isLoopback, authorities: authorities)
    #else
      let backend = CurlBackend(connectSeconds: limits.connectSeconds, authorities: authorities)
    #endif
    self.init(
      address: address, limits: limits, clock: .system, backend: backend, proxies: proxies, renewal: renewal,
      device: device, token: token)
  }

  /// Creates a transport with another clock and another network.
  package init(
    address: ServerAddress, limits: TransportLimits, clock: Clock, backend: any HTTPBackend,
    proxies: ProxySettings = ProxySettings(variables: [:]), renewal: TokenSource? = nil,
    device: @escaping @Sendable () throws -> String? = { nil }, token: @escaping @Sendable () throws -> String?
  ) {
    (self.address, self.limits, self.clock) = (address, limits, clock)
    (self.backend, self.proxies, self.token, self.device) = (backend, proxies, token, device)
    renewer = renewal.map { source in
      TokenRenewer(
        provider: source.provider, clock: clock, seconds: limits.tokenSeconds
      ) { token, refused async throws(TransportFailure) in
        let transport = HTTPTransport(
          address: address, limits: limits, clock: clock, backend: backend, proxies: proxies, device: device,
          token: { token })
        return try await source.accept(token, refused, transport)
      }
    }
  }

  /// Lets the provider be asked again for a token that it could not replace before. A sync round begins with this, so
  /// that a paused worker does not ask again and again.
  package func allowRenewal() { renewer?.allowRenewal() }

  /// Sends a request and waits for the complete response. Cancelling the task ends the request.
  ///
  /// If the server refuses the token, and the token can be renewed, the request is repeated once with the new token.
  /// - Throws: ``TransportFailure`` without a response, or with a redirect. Any other status is a response.
  public func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse {
    guard request.isAuthorized else { return try await attempt(request, token: nil) }
    var sent = try storedToken()
    guard let renewer, let refusal = request.tokenRefusal else { return try await attempt(request, token: sent) }
    let isFirst = sent == nil
    if isFirst { sent = try await renewer.replacement(for: nil, stored: nil) }
    let response = try await attempt(request, token: sent)
    guard let refused = sent, refusal.isMet(by: response) else { return response }
    guard !isFirst, let token = try await renewer.replacement(for: refused, stored: try storedToken()) else {
      renewer.note(refusedAgain: refused)
      return response
    }
    let repeated = try await attempt(request, token: token)
    if refusal.isMet(by: repeated) { renewer.note(refusedAgain: token) }
    return repeated
  }

  private func attempt(_ request: HTTPRequest, token: String?) async throws(TransportFailure) -> HTTPResponse {
    let outgoing = try outgoing(request, token: token)
    let exchange = RequestTask(request, limits: limits, clock: clock)
    let result = await withTaskCancellationHandler {
      await exchange.wait { backend.start(outgoing, exchange) }
    } onCancel: {
      exchange.finish(.failure(.cancelled))
    }
    if case .failure = result { backend.stop(exchange) }
    let response = try result.get()
    counted.withLock { traffic in
      traffic.bytesSent += response.bytesSent
      traffic.bytesReceived += response.bytesReceived
    }
    return response
  }

  /// A line break would end the header and begin another.
  private static func isLine(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

  /// Whether a text can be the token in a header.
  package static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private func storedToken() throws(TransportFailure) -> String? {
    do { return try token() } catch { throw .tokenUnavailable }
  }

  private func storedDevice() throws(TransportFailure) -> String? {
    do { return try device() } catch { throw .tokenUnavailable }
  }

  private func outgoing(_ request: HTTPRequest, token: String?) throws(TransportFailure) -> OutgoingRequest {
    for header in request.headers {
      let isOwn = header.name.lowercased() == "authorization" && request.isAuthorized
      guard HeaderName.isForRequests(header.name), Self.isLine(header.value), !isOwn else { throw .badHeader }
    }
    var headers = [(name: "User-Agent", value: "FieldVault/\(ProductVersion.current)")] + request.headers
    if request.download == nil { headers.append((name: "Accept", value: "application/json")) }
    if request.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
    if let token {
      guard Self.isToken(token) else { throw .badToken }
      headers.append((name: "Authorization", value: "Bearer \(token)"))
      if let device = try storedDevice() { headers.append((name: WireProtocol.deviceHeader, value: device)) }
    }
    let url = try address.url(of: request)
    return OutgoingRequest(
      url: url, headers: headers, method: request.method, body: request.body, upload: request.upload,
      decompresses: request.download == nil, proxy: proxies.proxy(for: url), isRepeatable: request.isRepeatable)
  }
}
