import CMicroHTTPD
import CipherSQL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension HTTPServer {
  /// The headers are there.
  func begin(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    let admission = handlers.admit(exchange.head)
    switch admission {
    case .open(let pattern, let open):
      exchange.beginOpening(pattern)
      return suspend(connection, for: exchange) { exchange.opened(await open()) }
    case .collect, .ignore:
      if case .collect = admission { exchange.keepBody() }
      guard exchange.head.announcesBody, isTooLong(exchange.head) else { return .YES }
      return send(HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response, of: exchange, on: connection)
    case .refuse(let refusal):
      // Without a body it is refused again when it is answered.
      guard exchange.head.announcesBody else { return .YES }
      let isTooLong = isTooLong(exchange.head)
      return send(
        isTooLong ? HTTPProblem.bodyTooLarge(limit: limits.bodyBytes).response : refusal, of: exchange, on: connection)
    }
  }

  private func isTooLong(_ head: Request) -> Bool {
    guard let length = head.headers["content-length"] else { return false }
    return Int(length).map { $0 > limits.bodyBytes } ?? true
  }

  /// A part of the body is there.
  func take(_ part: UnsafeBufferPointer<UInt8>, of exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    // A client that sends a byte now and then never idles, and yet may not hold a connection for ever.
    guard !exchange.isTooSlow(limits) else { return .NO }
    switch exchange.receive(part, limit: limits.bodyBytes) {
    case .taken, .dropped: return .YES
    case .over: return .NO
    case .refused(let refusal):
      if !isEncrypted { sendEarly(refusal, of: exchange, on: connection) }
      return .YES
    case .full(let sink):
      // Until the connection goes on nothing is read from the socket, so that a client cannot send faster than the disk
      // takes it. The part was taken all the same: the library forgets what it has read when it then sees the end.
      guard beginWork() else { return .NO }
      MHD_suspend_connection(connection)
      let suspended = SuspendedConnection(pointer: connection)
      sink.makeRoom {
        suspended.resume()
        self.endWork()
      }
      return .YES
    }
  }

  /// The body is complete, or what was waited for is known.
  func goOn(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
    if let response = exchange.response { return send(response, of: exchange, on: connection) }
    switch exchange.takeOpening() {
    case .sink: return .YES
    case .refuse(let refusal):
      return isToBeReadToItsEnd(exchange.head, refusal) ? .YES : send(refusal, of: exchange, on: connection)
    case nil: break
    }
    if let (refusal, isSaid) = exchange.refusal {
      // What was said already, past the library, leaves nothing to do but to close.
      return isSaid ? .NO : send(refusal, of: exchange, on: connection)
    }
    switch exchange.takeWork() {
    case .answer(let request):
      return suspend(connection, for: exchange, endsWithClient: true) {
        exchange.answer(await self.handlers.answer(request))
      }
    case .finish(let sink):
      return suspend(connection, for: exchange) { exchange.answer(await sink.finish()) }
    case nil: return .YES
    }
  }

  /// Whether the body of a refused request is read all the same, and dropped: many clients read no answer before they have
  /// sent everything, and would only see the connection break.
  private func isToBeReadToItsEnd(_ head: Request, _ refusal: Response) -> Bool {
    guard head.announcesBody else { return true }
    guard refusal.status != 401, head.headers["expect"] == nil, head.headers["content-length"] != nil else {
      return false
    }
    return !isTooLong(head)
  }

  /// Does something while the connection rests.
  private func suspend(
    _ connection: OpaquePointer, for exchange: Exchange, endsWithClient: Bool = false,
    _ body: @escaping @Sendable () async -> Void
  ) -> MHD_Result {
    guard beginWork() else { return .NO }
    MHD_suspend_connection(connection)
    let suspended = SuspendedConnection(pointer: connection)
    let task = Task {
      await body()
      suspended.resume()
      self.endWork()
    }
    exchange.work(task, socket: endsWithClient ? cmicrohttpd_socket(connection) : nil)
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
    guard let made = make(response) else { return .NO }
    defer { MHD_destroy_response(made) }
    let isLast = isStopping || response.status == 413
    for (name, value) in response.allHeaders + (isLast ? [("Connection", "close")] : [])
    where MHD_add_response_header(made, name, value) != .YES {
      return .NO
    }
    return MHD_queue_response(connection, UInt32(response.status), made)
  }

  private func make(_ response: Response) -> OpaquePointer? {
    if let file = response.file {
      // The library closes the descriptor with the answer.
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

  /// Answers while the client still sends, which the library cannot: it answers before a body or after it. Nothing else is
  /// on its way on this connection, because the answer to a request before was sent before this one began.
  private func sendEarly(_ response: Response, of exchange: Exchange, on connection: OpaquePointer) {
    var lines = ["HTTP/1.1 \(response.status) Refused"]
    lines += response.allHeaders.map { "\($0.name): \($0.value)" }
    lines += ["Content-Length: \(response.body.count)", "Connection: close", "", ""]
    let bytes = Array(lines.joined(separator: "\r\n").utf8) + response.body
    // What does not fit into the buffer of the system is lost; then the client sees the connection close.
    _ = cmicrohttpd_send_now(connection, bytes, bytes.count)
    exchange.saidRefusal()
  }
}
