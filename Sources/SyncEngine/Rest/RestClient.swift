import CipherSQL
import OfflineStore
import SyncModel
import WebTransport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Sends the requests of a route file.
struct RestClient: Sendable {
  let transport: HTTPTransport
  let file: RouteFile
  /// What the API's clock is ahead of this device's, in milliseconds, as its answers tell; nil before the first.
  private let offset = Locked<Int64?>(nil)

  init(transport: HTTPTransport, file: RouteFile) { (self.transport, self.file) = (transport, file) }

  /// Names the API whatever way its address is written: without scheme, in lower case, and without a port that says nothing.
  var identity: String {
    let address = transport.address.description.lowercased()
    var text = address.range(of: "://").map { String(address[$0.upperBound...]) } ?? address
    for port in [":443", ":80"] where text.hasSuffix(port) { text.removeLast(port.count) }
    return text + file.base
  }

  /// The time by the API's clock, in milliseconds since 1970, as far as it is known. The header of an answer has whole
  /// seconds, so less than two of difference say nothing.
  var serverTime: Int64 { Vault.now + (offset.withLock { $0 } ?? 0) }

  func ask(
    _ method: String, _ path: String, query: [(name: String, value: String)] = [], body: SyncValue? = nil,
    headers: [(name: String, value: String)] = []
  ) async throws(RemoteFailure) -> RestAnswer {
    var request = HTTPRequest(
      path.contains("://") ? path : file.base + path, query: query, body: body.map { Array($0.json.utf8) })
    request.method = method
    request.headers = headers
    // Whether an API takes the same twice is for its repeat rule to say.
    request.isRepeatable = body == nil
    return try await send(request)
  }

  /// A page of a list: the whole document, not only the place where a record stands in an answer. An address that the API
  /// names may be whole, or a path from its root.
  func fetch(_ path: String, _ query: [(name: String, value: String)]) async throws(RemoteFailure) -> RestAnswer {
    let isBelowBase = path.contains("://") || !file.base.isEmpty && path.hasPrefix(file.base + "/")
    var rules = file.answers
    rules.record = .whole
    return try await send(HTTPRequest(isBelowBase ? path : file.base + path, query: query), rules)
  }

  func send(_ request: HTTPRequest, _ rules: AnswerRules? = nil) async throws(RemoteFailure) -> RestAnswer {
    let answer: HTTPAnswer
    do throws(TransportFailure) {
      answer = try await transport.send(request)
    } catch {
      throw RemoteFailure(error)
    }
    note(answer.headers["date"])
    return RestAnswer(answer, rules ?? file.answers)
  }

  private func note(_ header: String?) {
    guard let header, let time = HTTPDate.milliseconds(header) else { return }
    let difference = time - Vault.now
    offset.withLock { $0 = abs(difference) < 2000 ? 0 : difference }
  }

  /// What an answer that is no success means for the whole round; nil for one that only concerns what was asked.
  static func failure(_ answer: RestAnswer) -> RemoteFailure? {
    switch answer {
    case .done, .gone, .invalid: nil
    case .credentials:
      RemoteFailure(
        .pauseCredentials, message: "the server does not accept the token",
        hint: "fieldvault remote set URL --token-file FILE")
    case .later(let seconds):
      RemoteFailure(
        .later(seconds: seconds), message: "the server wants to be left alone for a while",
        hint: "nothing is lost; sync goes on by itself", retryAfterSeconds: seconds)
    case .attempt(let status, let detail):
      RemoteFailure(
        .attempt, message: "the server failed at it (status \(status)): \(detail)",
        hint: "nothing is lost; it is tried again")
    case .notThere(let failure): RemoteFailure(failure)
    }
  }
}
