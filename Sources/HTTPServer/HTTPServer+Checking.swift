import Platform

extension HTTPServer {
  /// Checks that a server could listen on an address with a certificate, without serving there. An address in use is
  /// accepted, because the running server may have it.
  /// - Throws: ``HTTPServerError`` with `cannotListen` or `badCertificate`.
  package static func check(listen: String, identity: TLSIdentity?) async throws(HTTPServerError) {
    do throws(HTTPServerError) {
      try ListeningSocket.check(listen)
    } catch {
      guard error.code == .addressInUse else { throw error }
    }
    guard let identity else { return }
    // libmicrohttpd compares key and certificate only when a server starts.
    let server = try HTTPServer(
      listen: "127.0.0.1:0", identity: identity, limits: HTTPLimits(), log: .silent, environment: .system,
      handlers: Handlers(
        admit: { _ in AdmittedRequest(admission: .refuse(.empty(404))) }, respond: { _ in .empty(404) }))
    await server.stop()
  }
}
