#if canImport(Darwin)
  import Foundation

  /// Sends requests over URLSession: data tasks with a delegate, because tasks that collect a body have no limit.
  final class URLSessionBackend: HTTPBackend {
    private let table = SessionTable()
    private let session: URLSession

    init(limits: TransportLimits, usesProxies: Bool, authorities: CertificateAuthorities?) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      configuration.urlCache = nil
      configuration.urlCredentialStorage = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      if !usesProxies { configuration.connectionProxyDictionary = [:] }
      // The exchanges have timeouts of their own. These catch the rest.
      configuration.timeoutIntervalForRequest = limits.wholeSeconds + 120
      configuration.timeoutIntervalForResource = limits.wholeSeconds + 120
      session = URLSession(
        configuration: configuration, delegate: SessionEvents(table, authorities), delegateQueue: nil)
    }

    // A session retains its delegate until it is invalidated.
    deinit { session.invalidateAndCancel() }

    func start(_ request: OutgoingRequest, _ exchange: RequestTask) {
      guard let url = URL(string: request.url) else {
        return exchange.finish(.failure(.badAddress(detail: "a path cannot be appended to it")))
      }
      var outgoing = URLRequest(url: url)
      outgoing.httpShouldHandleCookies = false
      for header in request.headers { outgoing.setValue(header.value, forHTTPHeaderField: header.name) }
      outgoing.httpMethod = request.method
      if !request.decompresses { outgoing.setValue("identity", forHTTPHeaderField: "Accept-Encoding") }
      do {
        outgoing.httpBody = try request.body.map { Data($0) } ?? request.upload.map(Self.whole)
      } catch {
        return exchange.finish(.failure(.bodyFailed))
      }
      let task = session.dataTask(with: outgoing)
      table.add(task, exchange)
      task.resume()
    }

    /// Returns the whole body in memory. A session may rewind a body at any time, so files are sent in parts.
    private static func whole(_ upload: HTTPUpload) throws -> Data {
      var body = Data(count: Int(upload.byteCount))
      try body.withUnsafeMutableBytes { bytes in
        var done = 0
        while done < bytes.count {
          let count = try upload.read(Int64(done), UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
          guard count > 0 else { throw TransportFailure.bodyFailed }
          done += count
        }
      }
      return body
    }

    func stop(_ exchange: RequestTask) { table.remove(exchange)?.cancel() }
  }
#endif
