import CMicroHTTPD
import CipherSQL

extension HTTPServer {
  /// The headers are there.
  func begin(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    guard exchange.head.announcesBody else { return .YES }
    if let length = exchange.head.headers["content-length"], Int(length).map({ $0 > limits.bodyBytes }) ?? true {
      return send(HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response, of: exchange, on: connection)
    }
    guard let refusal = handlers.refuse(exchange.head) else { return .YES }
    return send(refusal, of: exchange, on: connection)
  }

  /// A part of the body is there.
  func take(
    _ part: UnsafeBufferPointer<UInt8>, of exchange: Exchange, on connection: OpaquePointer
  ) -> MHD_Result {
    // A client that sends a byte now and then never idles, and yet may not hold a connection for ever.
    guard ContinuousClock.now - exchange.start < .seconds(limits.bodySeconds) else { return .NO }
    switch exchange.receive(part, limit: limits.bodyBytes) {
    case .taken, .dropped: return .YES
    case .endless: return .NO
    case .overflows:
      if !isEncrypted { sendEarlyRefusal(on: connection) }
      return .YES
    }
  }

  /// The body is complete, or the answer is known.
  func goOn(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    if let response = exchange.response { return send(response, of: exchange, on: connection) }
    if exchange.isTooLarge {
      // Without TLS it was said already, past the library; all that is left is to close.
      return isEncrypted
        ? send(HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response, of: exchange, on: connection) : .NO
    }
    guard let request = exchange.takeRequest() else { return .YES }
    working.withLock { $0 += 1 }
    MHD_suspend_connection(connection)
    let suspended = SuspendedConnection(pointer: connection)
    let task = Task {
      exchange.answer(await self.handlers.answer(request))
      suspended.resume()
      self.working.withLock { $0 -= 1 }
    }
    exchange.work(task, socket: cmicrohttpd_socket(connection))
    return .YES
  }

  /// Lets no request wait for long whose client has gone. Ends with the server.
  func lookForLostClients() async {
    while !isStopping {
      // Requests that are answered soon are not worth a look: their effect counts whether the client hears of it or not.
      for exchange in waiting(atLeast: .seconds(2)) { exchange.endIfClientIsGone() }
      await Self.pause(.seconds(1))
    }
  }

  /// The one connection of a request that is being answered. `@unchecked Sendable` holds because a suspended connection
  /// stays until it is resumed, resuming is allowed from any thread, and only the task that holds this does it, once.
  private struct SuspendedConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    func resume() { MHD_resume_connection(pointer) }
  }

  private func send(_ response: Response, of exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    exchange.answer(response)
    let made = response.body.withUnsafeBytes { bytes in
      MHD_create_response_from_buffer(
        bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    let isLast = isStopping || response.status == 413
    let headers =
      [("Content-Type", response.contentType), ("Cache-Control", "no-store")]
      + response.headers.map { ($0.name, $0.value) } + (isLast ? [("Connection", "close")] : [])
    for (name, value) in headers where MHD_add_response_header(made, name, value) != .YES { return .NO }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }

  /// Answers 413 while the client still sends, which the library cannot: it answers before a body or after it. Nothing
  /// else is on its way on this connection, because the answer to a request before was sent before this one began.
  private func sendEarlyRefusal(on connection: OpaquePointer) {
    let problem = HTTPProblem.bodyTooLarge(limit: limits.bodyBytes)
    let body = Array(problem.json.json.utf8)
    let head = """
      HTTP/1.1 413 Content Too Large\r
      Content-Type: application/problem+json\r
      Content-Length: \(body.count)\r
      Connection: close\r
      \r

      """
    let bytes = Array(head.utf8) + body
    // What does not fit into the buffer of the system is lost; then the client sees the connection close.
    _ = cmicrohttpd_send_now(connection, bytes, bytes.count)
  }
}
