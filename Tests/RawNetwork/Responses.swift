import SyncModel
import HTTPClient

/// The text of an HTTP response.
package func responseText(
  _ body: String, status: String = "200 OK", type: String? = "application/json", headers: [String] = []
) -> String {
  var lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"]
  if let type { lines.append("Content-Type: \(type)") }
  return (lines + headers).joined(separator: "\r\n") + "\r\n\r\n" + body
}

package func problem(_ status: Int, type: String = "about:blank", headers: [String] = []) -> String {
  let problem = ServerProblem(type: type, title: "No", status: status, detail: "the rule", field: nil)
  return responseText(problem.wire.json, status: "\(status) No", type: "application/problem+json", headers: headers)
}

package let health = ServerHealth(serverTime: 1_772_352_000_000)
package let healthy = responseText(health.wire.json)

package func transport(
  _ server: RawServer, _ adjust: (inout TransportLimits) -> Void = { _ in }, token: String? = "secret-token"
) throws -> HTTPTransport {
  var limits = TransportLimits()
  adjust(&limits)
  return HTTPTransport(address: try ServerAddress(server.url), limits: limits, token: { token })
}

/// What a call throws, or nil.
package func failure<Value>(_ body: () async throws(TransportFailure) -> Value) async -> TransportFailure? {
  do throws(TransportFailure) {
    _ = try await body()
    return nil
  } catch {
    return error
  }
}
