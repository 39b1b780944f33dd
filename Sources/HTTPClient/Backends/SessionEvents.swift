#if canImport(Darwin)
  import Foundation

  /// Passes the events of a session to their exchanges.
  final class SessionEvents: NSObject, URLSessionDataDelegate {
    private let table: SessionTable
    private let authorities: CertificateAuthorities?

    init(_ table: SessionTable, _ authorities: CertificateAuthorities?) {
      (self.table, self.authorities) = (table, authorities)
    }

    /// Accepts the additional authorities beside those of the system.
    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let authorities, let trust = challenge.protectionSpace.serverTrust else {
        return completionHandler(.performDefaultHandling, nil)
      }
      let anchors = authorities.certificates.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
      SecTrustSetAnchorCertificates(trust, anchors as CFArray)
      SecTrustSetAnchorCertificatesOnly(trust, false)
      guard SecTrustEvaluateWithError(trust, nil) else { return completionHandler(.cancelAuthenticationChallenge, nil) }
      completionHandler(.useCredential, URLCredential(trust: trust))
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      if let response = response as? HTTPURLResponse, let exchange = table[dataTask] {
        let headers = response.allHeaderFields.compactMap { name, value in
          (name as? String).map { ($0.lowercased(), "\(value)") }
        }
        exchange.receive(
          ResponseHead(status: response.statusCode, headers: Dictionary(headers, uniquingKeysWith: { $1 })))
        table.watch(exchange)
      }
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard let exchange = table[dataTask] else { return }
      data.withUnsafeBytes { exchange.receive($0) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) {
      table[task]?.progressed()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let exchange = table[task] else { return }
      exchange.complete(error.map(TransportFailure.init(system:)))
      _ = table.remove(exchange)
    }

    /// A followed redirect would send the token to its target.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      table[task]?.finish(.failure(.notTheServer(detail: "it redirects")))
      completionHandler(nil)
    }
  }

  extension TransportFailure {
    /// Returns the meaning of the system's error. Its own text is not repeated, because it may contain the address
    /// with its query.
    init(system error: any Error) {
      let code = (error as? URLError)?.code ?? .unknown
      self =
        switch code {
        case .cancelled: .cancelled
        case .cannotFindHost, .dnsLookupFailed: .noConnection(detail: "its host name cannot be resolved")
        case .cannotConnectToHost: .noConnection(detail: "no connection could be established")
        case .networkConnectionLost: .noConnection(detail: "the connection was lost")
        case .notConnectedToInternet: .noConnection(detail: "there is no network")
        case .timedOut: .noConnection(detail: "the connection timed out")
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
          .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
          .clientCertificateRequired:
          .untrusted
        case .badServerResponse, .cannotParseResponse: .notTheServer(detail: "it does not speak HTTP")
        default: .noConnection(detail: "the connection failed (\(code.rawValue))")
        }
    }
  }
#endif
