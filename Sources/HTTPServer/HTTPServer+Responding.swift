import CMicroHTTPD
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension HTTPServer {
  /// Begins a request whose headers have arrived.
  func begin(_ exchange: ConnectionState, on connection: OpaquePointer) -> MHD_Result {
    let admitted = handlers.admit(exchange.head)
    exchange.admit(admitted)
    switch admitted.admission {
    case .open(let pattern, let open):
      exchange.beginOpening(pattern)
      return suspend(connection, for: exchange) { exchange.opened(await open()) }
    case .collect, .ignore:
      if exchange.head.announcesBody, isTooLong(exchange.head) {
        return send(HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response, of: exchange, on: connection)
      }
      guard case .collect = admitted.admission else { return .YES }
      do throws(BodyMemory.Refusal) {
        try reserveBody(of: exchange)
      } catch {
        return send(HTTPProblem.noMemory(error).response, of: exchange, on: connection)
      }
      exchange.keepBody()
      return .YES
    case .refuse(let refusal):
      // A request without a body is refused again when the server responds.
      guard exchange.head.announcesBody else { return .YES }
      let isTooLong = isTooLong(exchange.head)
      return send(
        isTooLong ? HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response : refusal, of: exchange, on: connection)
    }
  }

  /// Counts the body before any of it is read. A body without a length counts with the greatest size.
  private func reserveBody(of exchange: ConnectionState) throws(BodyMemory.Refusal) {
    guard exchange.head.announcesBody, let caller = exchange.caller else { return }
    let bytes = exchange.head.headers["content-length"].flatMap { Int($0) } ?? limits.bodyBytes
    try memory.reserve(bytes, for: caller.userId)
    exchange.atEnd { [memory] in memory.release(bytes, of: caller.userId) }
  }

  /// Refuses an ambiguous request. No further request of its connection is read.
  func refuse(_ problem: HTTPProblem, of exchange: ConnectionState, on connection: OpaquePointer) -> MHD_Result {
    send(problem.response, of: exchange, on: connection, isLast: true)
  }

  private func isTooLong(_ head: Request) -> Bool {
    guard let length = head.headers["content-length"] else { return false }
    return Int(length).map { $0 > limits.bodyBytes } ?? true
  }

  /// Receives a part of the body.
  func take(_ part: UnsafeBufferPointer<UInt8>, of exchange: ConnectionState, on connection: OpaquePointer)
    -> MHD_Result
  {
    // A client that sends a byte now and then is never idle, and still may not hold a connection without limit.
    guard !exchange.isTooSlow(limits) else { return .NO }
    switch exchange.receive(part, limit: limits.bodyBytes) {
    case .taken, .dropped: return .YES
    case .over: return .NO
    case .refused(let refusal):
      if !isEncrypted { sendEarly(refusal, of: exchange, on: connection) }
      return .YES
    case .full(let sink):
      // Nothing is read from the socket until the connection resumes, so that a client cannot send faster than the
      // disk writes. The part was accepted nevertheless: the library discards the bytes that it has read when it
      // finds the end afterwards.
      guard let suspended = suspend(connection, for: nil) else { return .NO }
      sink.whenReady { self.resume(suspended) }
      return .YES
    }
  }

  /// Continues a request whose body is complete, or whose destination is known.
  func goOn(_ exchange: ConnectionState, on connection: OpaquePointer) -> MHD_Result {
    if let response = exchange.response { return send(response, of: exchange, on: connection) }
    switch exchange.takeOpening() {
    case .sink: return .YES
    case .refuse(let refusal):
      return isToBeReadToItsEnd(exchange.head, refusal) ? .YES : send(refusal, of: exchange, on: connection)
    case nil: break
    }
    if let (refusal, isSaid) = exchange.refusal {
      // The response was sent already, bypassing the library, so only the connection is closed.
      return isSaid ? .NO : send(refusal, of: exchange, on: connection)
    }
    switch exchange.takeWork() {
    case .respond(let request):
      return suspend(connection, for: exchange, endsWithClient: true) {
        exchange.respond(with: await self.handlers.respond(request))
      }
    case .finish(let sink):
      return suspend(connection, for: exchange) { exchange.respond(with: await sink.finish()) }
    case nil: return .YES
    }
  }

  /// Returns whether to read and drop the body of a refused request. Many clients read no response before they have
  /// sent the whole body, and would only see the connection break.
  private func isToBeReadToItsEnd(_ head: Request, _ refusal: Response) -> Bool {
    guard head.announcesBody else { return true }
    guard refusal.status != 401, head.headers["expect"] == nil, head.headers["content-length"] != nil else {
      return false
    }
    return !isTooLong(head)
  }

  /// Runs a task while the connection is suspended.
  private func suspend(
    _ connection: OpaquePointer, for exchange: ConnectionState, endsWithClient: Bool = false,
    _ body: @escaping @Sendable () async -> Void
  ) -> MHD_Result {
    guard let suspended = suspend(connection, for: exchange) else { return .NO }
    let task = Task {
      await body()
      self.resume(suspended)
    }
    exchange.work(task, socket: endsWithClient ? cmicrohttpd_socket(connection) : nil)
    return .YES
  }

  private func send(
    _ response: Response, of exchange: ConnectionState, on connection: OpaquePointer, isLast: Bool = false
  ) -> MHD_Result {
    exchange.respond(with: response)
    guard let made = make(response, of: exchange, on: connection) else { return .NO }
    defer { MHD_destroy_response(made) }
    // Behind a chunked body nothing else is read, because the library is lenient about where its chunks end.
    let isChunked = exchange.head.headers["transfer-encoding"] != nil
    let isLast = isLast || isChunked || isStopping || exchange.isDraining || response.status == 413
    for (name, value) in response.allHeaders + [(Request.idHeader, exchange.id)]
      + (isLast ? [("Connection", "close")] : [])
    where MHD_add_response_header(made, name, value) != .YES {
      return .NO
    }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }

  private func make(
    _ response: Response, of exchange: ConnectionState, on connection: OpaquePointer
  ) -> OpaquePointer? {
    if let source = response.source {
      // Given back in `releaseBody`.
      let body = Unmanaged.passRetained(StreamedBody(source, of: exchange, on: connection, self))
      let made = MHD_create_response_from_callback(
        StreamedBody.unknownSize, StreamedBody.blockBytes, readBody, body.toOpaque(), releaseBody)
      if made == nil { body.release() }
      return made
    }
    if let file = response.file {
      // The library closes the descriptor with the response.
      guard let descriptor = file.file.duplicate() else { return nil }
      let made = MHD_create_response_from_fd_at_offset64(UInt64(file.count), descriptor, UInt64(file.start))
      if made == nil { close(descriptor) }
      return made
    }
    return response.body.withUnsafeBytes { bytes in
      MHD_create_response_from_buffer(
        bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
  }

  /// Responds while the client is still sending. The library can respond only before a body or after it. No other bytes
  /// are being sent on this connection, because the response to the previous request was sent before this request
  /// began.
  private func sendEarly(_ response: Response, of exchange: ConnectionState, on connection: OpaquePointer) {
    var lines = ["HTTP/1.1 \(response.status) Refused"]
    lines += response.allHeaders.map { "\($0.name): \($0.value)" }
    lines += [
      "\(Request.idHeader): \(exchange.id)", "Content-Length: \(response.body.count)", "Connection: close", "", "",
    ]
    let bytes = Array(lines.joined(separator: "\r\n").utf8) + response.body
    // Bytes that exceed the system's buffer are lost. The client then sees the connection close.
    _ = cmicrohttpd_send_now(connection, bytes, bytes.count)
    exchange.saidRefusal()
  }
}
