import CipherSQL
import Platform
import VaultStore
import SyncModel
import HTTPClient

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Sends the requests of a route file.
struct RestClient: Sendable {
  let transport: HTTPTransport
  let file: RouteFile
  let limits: ListLimits
  /// The clock and the random source of the vault.
  let environment: Environment
  /// The reasons why ids of the API cannot be stored, by entity, as its first responses show. A create request would
  /// create a record that this device could never identify.
  private let unfitIds = Locked<[String: String]>([:])
  /// The time by the API's clock minus the time by this device's clock, in milliseconds; `nil` before the first
  /// response.
  private let offset = Locked<Int64?>(nil)

  init(transport: HTTPTransport, file: RouteFile, limits: ListLimits = ListLimits(), environment: Environment) {
    (self.transport, self.file, self.limits, self.environment) = (transport, file, limits, environment)
  }

  /// Identifies the API, however its address is written: without scheme, in lower case, without a default port.
  var identity: String {
    let address = transport.address.description.lowercased()
    var text = address.range(of: "://").map { String(address[$0.upperBound...]) } ?? address
    for port in [":443", ":80"] where text.hasSuffix(port) { text.removeLast(port.count) }
    return text + file.base
  }

  /// The time by the API's clock, in milliseconds since 1970. The header of a response has whole seconds, so a
  /// difference below two seconds is ignored.
  var serverTime: Int64 { environment.now + (offset.withLock { $0 } ?? 0) }

  func ask(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [], body: SyncValue? = nil,
    headers: [(name: String, value: String)] = [], renewsToken: Bool = true
  ) async throws(RemoteFailure) -> RestResponse {
    var request = HTTPRequest(file.base + path, query: query, body: body.map { Array($0.json.utf8) })
    request.method = method
    request.headers = headers
    // The repeat rule decides whether the API accepts a repetition.
    request.isRepeatable = body == nil
    // A probe for the network must not ask the user for a token.
    if !renewsToken { request.tokenRefusal = nil }
    return try await send(request)
  }

  /// Fetches a page of a list: the complete document, not only the position of a record in a response.
  /// - Returns: the response, and the bytes of its body.
  func fetch(_ request: HTTPRequest) async throws(RemoteFailure) -> (RestResponse, bytes: Int) {
    var rules = file.responseRules
    rules.record = .whole
    let response = try await response(to: request)
    return (RestResponse(response, rules), response.body.count)
  }

  func send(_ request: HTTPRequest) async throws(RemoteFailure) -> RestResponse {
    RestResponse(try await response(to: request), file.responseRules)
  }

  /// Requests the path of the route file, or the base of the API. Any response of the API shows that it is reachable.
  func health() async throws(RemoteFailure) {
    let response =
      if let call = file.health {
        try await ask(call.method, call.path.description, renewsToken: false)
      } else {
        try await ask("GET", "/", renewsToken: false)
      }
    switch response {
    case .notThere(let failure): throw RemoteFailure(failure)
    case .later: throw Self.failure(response) ?? .offline
    case .done, .gone, .invalid, .attempt, .credentials: return
    }
  }

  private func response(to request: HTTPRequest) async throws(RemoteFailure) -> HTTPResponse {
    var request = request
    request.tokenRefusal?.statuses = file.responseRules.credentialStatuses
    // An API is not asked for a problem of a known form, and its page for 401 is a refusal; see `RestResponse`.
    request.tokenRefusal?.body = .any
    let response: HTTPResponse
    do throws(TransportFailure) {
      response = try await transport.send(request)
    } catch {
      throw RemoteFailure(error)
    }
    note(response.headers["date"])
    return response
  }

  private func note(_ header: String?) {
    guard let header, let time = HTTPDate.milliseconds(header) else { return }
    let difference = time - environment.now
    offset.withLock { $0 = abs(difference) < 2000 ? 0 : difference }
  }

  /// Why the ids of an entity cannot be stored; `nil` while nothing speaks against it.
  func unfitIds(of type: String) -> String? { unfitIds.withLock { $0[type] } }

  /// Notes an id that `serverId` cannot hold, or `nil` for one that it holds.
  func note(unfitId value: SyncValue?, of table: RecordTable, at place: JSONPlace) {
    let type = table.entity.type
    let problem = value.map {
      "the id \($0.json.prefix(60)) at '\(place)' does not fit \(type).serverId; correct the route file or the table"
    }
    unfitIds.withLock { $0[type] = problem }
  }

  /// Returns the meaning of an unsuccessful response for the round; `nil` if it concerns only the requested resource.
  static func failure(_ response: RestResponse) -> RemoteFailure? {
    switch response {
    case .done, .gone, .invalid: nil
    case .credentials:
      RemoteFailure(
        .pauseCredentials, message: "the server does not accept the token", remedy: .setRemote)
    case .later(let seconds):
      RemoteFailure(
        .later(seconds: seconds), message: "the server requested a pause",
        hint: "no data is lost; sync continues automatically", retryAfterSeconds: seconds)
    case .attempt(let status, let detail):
      RemoteFailure(
        .attempt, message: "the server failed (status \(status)): \(detail)",
        hint: "no data is lost; the request is retried")
    case .notThere(let failure): RemoteFailure(failure)
    }
  }
}
