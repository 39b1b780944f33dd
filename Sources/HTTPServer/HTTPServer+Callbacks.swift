import CMicroHTTPD
import Platform

/// Handles a call of libmicrohttpd after the headers of a request, for each part of the body, at the end of the body,
/// and again when a suspended connection resumes. Calls for one connection are never concurrent.
func handleAccess(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
  _ uploadSize: UnsafeMutablePointer<Int>?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let url, let method, let version, let uploadSize, let slot else { return .NO }
  let listener = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue()
  let server = listener.server
  let isCut = cmicrohttpd_is_cut(slot.pointee) != 0
  guard let known = slot.pointee, !isCut else {
    server.watch.began(connection)
    let head = RequestHead(
      method: String(cString: method), path: String(cString: url), version: String(cString: version),
      parameters: values(of: connection, .GET_ARGUMENT_KIND), fields: values(of: connection, .HEADER_KIND),
      isPlain: !isCut && cmicrohttpd_is_plain(connection, method, url, version) != 0)
    let id = ConnectionMonitor.id(of: connection)
    let exchange: ConnectionState
    let refusal: HTTPProblem?
    do throws(HTTPProblem) {
      let request = try head.request()
      exchange = ConnectionState(
        head: request, id: request.clientId ?? server.newRequestId(), connection: id, isDraining: listener.isDraining,
        clock: server.clock)
      refusal = nil
    } catch {
      exchange = ConnectionState(
        head: Request(method: head.method, path: ""), id: server.newRequestId(), connection: id, isDraining: true,
        clock: server.clock)
      refusal = error
    }
    server.began(exchange)
    // Given back in `handleCompletion`.
    slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
    if let refusal { return server.refuse(refusal, of: exchange, on: connection) }
    return server.begin(exchange, on: connection)
  }
  let exchange = Unmanaged<ConnectionState>.fromOpaque(known).takeUnretainedValue()
  if uploadSize.pointee > 0, let upload {
    let count = uploadSize.pointee
    uploadSize.pointee = 0
    return upload.withMemoryRebound(to: UInt8.self, capacity: count) { start in
      server.take(UnsafeBufferPointer(start: start, count: count), of: exchange, on: connection)
    }
  }
  return server.goOn(exchange, on: connection)
}

/// Handles the call of libmicrohttpd when a request has ended for any reason.
func handleCompletion(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let connection, let slot, let known = slot.pointee, cmicrohttpd_is_cut(known) == 0 else { return }
  let server = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().server
  let exchange = Unmanaged<ConnectionState>.fromOpaque(known).takeRetainedValue()
  slot.pointee = nil
  let response = exchange.response ?? exchange.refusal?.response
  exchange.end()
  let head = exchange.head
  server.handlers.completed(
    CompletedRequest(
      id: exchange.id, method: head.method, pattern: response?.pattern ?? exchange.pattern,
      status: response?.status ?? 499, duration: server.clock.instant() - exchange.start,
      bytes: head.method == "HEAD" ? 0 : exchange.sentBytes + (response?.byteCount ?? 0),
      account: exchange.caller?.accountName,
      device: response?.device))
  server.watch.ended(connection, isKnown: exchange.caller != nil)
  server.ended(exchange)
}

/// Handles the call of libmicrohttpd for more of a body that is made while it is sent.
func readBody(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
  guard let context, let buffer else { return StreamedBody.failed }
  return Unmanaged<StreamedBody>.fromOpaque(context).takeUnretainedValue()
    .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

/// Handles the call of libmicrohttpd when it has released a response whose body was made while it was sent.
func releaseBody(_ context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<StreamedBody>.fromOpaque(context).release() }
}

/// Handles the calls of libmicrohttpd after it has accepted a connection, and before it closes a socket.
func handleConnection(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ event: MHD_ConnectionNotificationCode
) {
  guard let context, let connection else { return }
  let listener = Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue()
  if cmicrohttpd_is_start(event) != 0 {
    listener.count(1)
    listener.server.watch.opened(connection)
  } else {
    listener.server.watch.closed(connection)
    listener.count(-1)
  }
}

/// Returns all received headers or parameters.
private func values(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
  var values: [(name: String, value: String)] = []
  withUnsafeMutablePointer(to: &values) { pointer in
    _ = MHD_get_connection_values(
      connection, kind,
      { context, _, key, value in
        guard let context, let key else { return .YES }
        let values = context.assumingMemoryBound(to: [(name: String, value: String)].self)
        values.pointee.append((String(cString: key), value.map { String(cString: $0) } ?? ""))
        return .YES
      }, pointer)
  }
  return values
}
