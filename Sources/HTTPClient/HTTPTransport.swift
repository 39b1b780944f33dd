import CipherSQL

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
  private let clock: Clock
  private let backend: any HTTPBackend
  private let counted = Locked(TransferCounts())

  /// The bytes sent and received so far.
  public var traffic: TransferCounts { counted.withLock { $0 } }

  /// Creates a transport.
  /// - Parameter token: returns the token, or `nil` to send none. Called for each request, so that a new token is used at
  ///   once. If it throws, the request fails with ``TransportFailure/tokenUnavailable``.
  public convenience init(
    address: ServerAddress, limits: TransportLimits = TransportLimits(), token: @escaping @Sendable () throws -> String?
  ) {
    #if canImport(Darwin)
      let backend = URLSessionBackend(limits: limits, usesProxies: address.isEncrypted)
    #else
      let backend = CurlBackend(connectSeconds: limits.connectSeconds)
    #endif
    self.init(address: address, limits: limits, clock: .system, backend: backend, token: token)
  }

  /// Creates a transport with another clock and another network.
  package init(
    address: ServerAddress, limits: TransportLimits, clock: Clock, backend: any HTTPBackend,
    token: @escaping @Sendable () throws -> String?
  ) {
    (self.address, self.limits, self.clock) = (address, limits, clock)
    (self.backend, self.token) = (backend, token)
  }

  /// Sends a request and waits for the complete response. Cancelling the task ends the request.
  ///
  /// - Throws: ``TransportFailure`` without a response, or with a redirect. Any other status is a response.
  public func send(_ request: HTTPRequest) async throws(TransportFailure) -> HTTPResponse {
    let outgoing = try outgoing(request)
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

  private func token(of request: HTTPRequest) throws(TransportFailure) -> String? {
    guard request.isAuthorized else { return nil }
    do { return try token() } catch { throw .tokenUnavailable }
  }

  private func outgoing(_ request: HTTPRequest) throws(TransportFailure) -> OutgoingRequest {
    for header in request.headers {
      let isOwn = header.name.lowercased() == "authorization" && request.isAuthorized
      guard HeaderName.isForRequests(header.name), Self.isLine(header.value), !isOwn else { throw .badHeader }
    }
    var headers = [(name: "User-Agent", value: "FieldVault")] + request.headers
    if request.download == nil { headers.append((name: "Accept", value: "application/json")) }
    if request.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
    if let token = try token(of: request) {
      guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .badToken }
      headers.append((name: "Authorization", value: "Bearer \(token)"))
    }
    let url = try address.url(of: request)
    return OutgoingRequest(
      url: url, headers: headers, method: request.method, body: request.body, upload: request.upload,
      decompresses: request.download == nil, usesProxies: url.lowercased().hasPrefix("https:"),
      isRepeatable: request.isRepeatable)
  }
}
