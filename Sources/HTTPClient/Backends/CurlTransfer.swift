#if !canImport(Darwin)
  import CCurl

  /// A request of libcurl and the destination of its parts.
  final class CurlTransfer {
    let easy: UnsafeMutableRawPointer
    let exchange: RequestTask
    private var parser = HeadParser()
    private var isHeadTooLong = false
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let settings: CurlSettings
    private var proxy: ProxySettings.Proxy?
    /// Whether the proxy responded to a request that it was to forward, because it wants credentials of its own.
    private var isRefusedByProxy = false
    private var source: HTTPUpload?
    private var sent: Int64 = 0
    private var isRepeatable = true

    init(_ easy: UnsafeMutableRawPointer, _ exchange: RequestTask, _ settings: CurlSettings) {
      self.easy = easy
      self.exchange = exchange
      self.settings = settings
    }

    deinit { curl_slist_free_all(headers) }

    func prepare(_ request: OutgoingRequest) -> CURLcode {
      // Without this curl asks before it sends a long body, and waits a second for servers that do not know that.
      var lines = ["Expect:"]
      // And without this it says that every body is a form.
      if !request.headers.contains(where: { $0.name == "Content-Type" }) { lines.append("Content-Type:") }
      lines += request.headers.map { "\($0.name): \($0.value)" }
      for line in lines {
        guard let longer = curl_slist_append(headers, line) else { return CURLE_OUT_OF_MEMORY }
        headers = longer
      }
      isRepeatable = request.isRepeatable
      proxy = request.proxy
      var parts = ccurl_request()
      parts.decompresses = request.decompresses ? 1 : 0
      parts.headers = headers
      parts.connect_milliseconds = Int(max(settings.connectSeconds * 1000, 1))
      parts.body_count = -1
      source =
        request.upload
        ?? request.body.map { body in
          HTTPUpload(byteCount: Int64(body.count)) { offset, buffer in
            let part = body[Int(offset)..<min(body.count, Int(offset) + buffer.count)]
            buffer.copyBytes(from: part)
            return part.count
          }
        }
      if let source { parts.body_count = Int(source.byteCount) }
      parts.on_header = Self.onHeader
      parts.on_body = Self.onBody
      parts.on_read = Self.onRead
      parts.on_seek = Self.onSeek
      parts.context = Unmanaged.passUnretained(self).toOpaque()
      return (proxy?.url ?? "").withCString { proxy in
        parts.proxy = proxy
        return (settings.authorities ?? []).withUnsafeBytes { authorities in
          (parts.authorities, parts.authorities_count) = (authorities.baseAddress, authorities.count)
          return ccurl_prepare(easy, request.url, request.method, &parts)
        }
      }
    }

    /// Gives curl the next bytes of the body.
    private static let onRead: ccurl_callback = { bytes, _, count, context in
      guard let bytes, let context else { return Int(CURL_READFUNC_ABORT) }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      return transfer.read(UnsafeMutableRawBufferPointer(start: bytes, count: count)) ?? Int(CURL_READFUNC_ABORT)
    }

    /// Curl restarts the body when a reused connection proves to be closed.
    private static let onSeek: ccurl_seek_callback = { context, offset, _ in
      guard let context else { return 1 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      // A body that was sent in part may have been enough for the server.
      guard transfer.isRepeatable || transfer.sent == 0 else { return 1 }
      transfer.sent = Int64(offset)
      return 0
    }

    private func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
      guard let source, !exchange.isOver else { return nil }
      let left = source.byteCount - sent
      guard left > 0 else { return 0 }
      do {
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(left, Int64(buffer.count)))))
        let count = try source.read(sent, part)
        // A body that is shorter than it was said to be is none.
        guard count > 0 else { throw TransportFailure.bodyFailed }
        sent += Int64(count)
        exchange.progressed()
        return count
      } catch {
        exchange.finish(.failure(.bodyFailed))
        return nil
      }
    }

    /// Fewer bytes than were given make curl end the request.
    private static let onHeader: ccurl_callback = { bytes, _, count, context in
      guard let bytes, let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      switch transfer.parser.take(UnsafeRawBufferPointer(start: bytes, count: count)) {
      case .incomplete: break
      case .head(let head):
        // Only a proxy sends this status.
        if head.status == 407, transfer.proxy != nil {
          transfer.isRefusedByProxy = true
          return 0
        }
        transfer.exchange.receive(head)
      case .tooLong:
        transfer.isHeadTooLong = true
        return 0
      }
      return transfer.exchange.isOver ? 0 : count
    }

    private static let onBody: ccurl_callback = { bytes, _, count, context in
      guard let bytes, let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      transfer.exchange.receive(UnsafeRawBufferPointer(start: bytes, count: count))
      return transfer.exchange.isOver ? 0 : count
    }

    /// Returns the meaning of curl's code; `nil` for a response. Curl's own texts are not repeated, because they may
    /// contain the address.
    func failure(_ code: CURLcode) -> TransportFailure? {
      if isHeadTooLong { return .notTheServer(detail: "its response headers are too long") }
      if let proxy, let detail = proxyFailure(code) { return .proxyFailed(proxy: proxy.name, detail: detail) }
      return switch code {
      case CURLE_OK: nil
      case CURLE_COULDNT_RESOLVE_HOST: .noConnection(detail: "its host name cannot be resolved")
      case CURLE_COULDNT_CONNECT: .noConnection(detail: "no connection could be established")
      case CURLE_OPERATION_TIMEDOUT: .timedOut(seconds: settings.connectSeconds)
      case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
        .noConnection(detail: "the connection was lost")
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
        CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CACERT_BADFILE, CURLE_USE_SSL_FAILED:
        .untrusted
      case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2,
        CURLE_HTTP2_STREAM:
        .notTheServer(detail: "it does not speak HTTP")
      default: .noConnection(detail: "the connection failed (libcurl, error \(code.rawValue))")
      }
    }

    /// Returns why the proxy failed; `nil` if it did not.
    private func proxyFailure(_ code: CURLcode) -> String? {
      let status = isRefusedByProxy ? 407 : ccurl_connect_status(easy)
      switch (status, code) {
      case (407, _): return "requires a user name and a password that it accepts (status 407)"
      case (300..., _): return "opens no connection to the server (status \(status))"
      case (_, CURLE_COULDNT_RESOLVE_PROXY): return "cannot be reached: its host name cannot be resolved"
      // With a proxy, only the proxy is resolved and connected to.
      case (_, CURLE_COULDNT_CONNECT): return "cannot be reached: no connection could be established"
      case (_, CURLE_OPERATION_TIMEDOUT):
        return "opened no connection to the server within \(Int(settings.connectSeconds.rounded(.up))) s"
      case (_, CURLE_PROXY), (0, CURLE_RECV_ERROR), (0, CURLE_SEND_ERROR), (0, CURLE_GOT_NOTHING):
        return "ended the connection"
      case (_, CURLE_URL_MALFORMAT), (_, CURLE_UNSUPPORTED_PROTOCOL): return "has an invalid address"
      default: return nil
      }
    }
  }
#endif
