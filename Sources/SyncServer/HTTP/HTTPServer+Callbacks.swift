import CMicroHTTPD
import CipherSQL

/// libmicrohttpd calls it when the headers of a request are there, for each part of the body, at the end of the body, and
/// again when the connection goes on after it was suspended; for one connection never twice at a time.
func handleAccess(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
  _ uploadSize: UnsafeMutablePointer<Int>?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let url, let method, let uploadSize, let slot else { return .NO }
  let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
  guard let known = slot.pointee else {
    let head = Request(
      method: String(cString: method), path: String(cString: url),
      query: values(of: connection, .GET_ARGUMENT_KIND), headers: values(of: connection, .HEADER_KIND))
    let exchange = Exchange(head: head)
    server.began(exchange)
    // Given back in `handleCompletion`.
    slot.pointee = Unmanaged.passRetained(exchange).toOpaque()
    return server.begin(exchange, on: connection)
  }
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
  if uploadSize.pointee > 0, let upload {
    let count = uploadSize.pointee
    uploadSize.pointee = 0
    return upload.withMemoryRebound(to: UInt8.self, capacity: count) { start in
      server.take(UnsafeBufferPointer(start: start, count: count), of: exchange, on: connection)
    }
  }
  return server.goOn(exchange, on: connection)
}

/// libmicrohttpd calls it when a request is over, however that came.
func handleCompletion(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let context, let slot, let known = slot.pointee else { return }
  let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
  let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
  slot.pointee = nil
  let response = exchange.response ?? exchange.refusal?.response
  exchange.end()
  // 499 is what other servers note for a client that went away.
  server.log.note(
    method: exchange.head.method, pattern: response?.pattern ?? exchange.pattern,
    status: response?.status ?? 499, duration: ContinuousClock.now - exchange.start,
    bytes: exchange.head.method == "HEAD" ? 0 : response?.byteCount ?? 0)
  server.ended(exchange)
}

/// All headers or parameters, names in lower case for headers.
private func values(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> [String: String] {
  var values: [String: String] = [:]
  withUnsafeMutablePointer(to: &values) { pointer in
    _ = MHD_get_connection_values(
      connection, kind,
      { context, kind, key, value in
        guard let context, let key else { return .YES }
        let values = context.assumingMemoryBound(to: [String: String].self)
        let name = String(cString: key)
        values.pointee[kind == .HEADER_KIND ? name.lowercased() : name] = value.map { String(cString: $0) } ?? ""
        return .YES
      }, pointer)
  }
  return values
}
