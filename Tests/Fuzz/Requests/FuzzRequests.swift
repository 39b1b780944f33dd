import Dispatch
import FuzzSupport
import SyncModel

@testable import HTTPServer
@testable import SyncServer

/// The routes return a result or a problem of RFC 9457 for each request of a user, never a server error. The first
/// byte of the input chooses the route, a line with parameters follows, then the body.
@main
enum FuzzRequests: FuzzTarget {
  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let parts = bytes.dropFirst().split(separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false)
    let line = String(decoding: parts.first ?? [], as: UTF8.self)
    let (method, path) = routes[Int(first) % routes.count]
    let (query, rest) = parameters(line)
    let request = Request(
      method: method, path: path + rest, query: query, headers: headers, body: Array(parts.dropFirst().first ?? []))
    let response = server.respond(to: request)
    check(response, request)
  }

  private static func check(_ response: Response, _ request: Request) {
    require((200..<600).contains(response.status), "status \(response.status)")
    // 507 is what the storage of files says to each upload here.
    require(response.status < 500 || response.status == 507, "the server does not fail: \(response.status) \(request)")
    for (name, value) in response.allHeaders {
      require(!"\(name)\(value)".utf8.contains { $0 < 0x20 || $0 == 0x7f }, "a header is one line")
    }
    guard !response.body.isEmpty else { return }
    guard let value = try? SyncValue(parsing: response.body), case .object(let object) = value else {
      fatalError("does not hold: the body is a JSON object")
    }
    require(value.json.utf8.elementsEqual(response.body), "the body is written in one way")
    if response.status >= 400 {
      require(response.contentType == "application/problem+json", "a problem says what it is")
      require(object["status"] == .integer(Int64(response.status)), "a problem names its status")
    }
    if request.path == "/v1/push", response.status == 200 { checkPush(response, request) }
  }

  /// Each operation has one result, in order.
  private static func checkPush(_ response: Response, _ request: Request) {
    guard case .object(let sent)? = try? SyncValue(parsing: request.body),
      case .array(let operations)? = sent["operations"],
      let pushResponse = try? PushResponse(json: response.body)
    else { fatalError("does not hold: a response to a push is read by a device") }
    let ids = operations.map { operation -> String? in
      guard case .object(let members) = operation, case .text(let id)? = members["operationId"] else { return nil }
      return id
    }
    require(pushResponse.results.map(\.operationId) == ids, "each operation has its result")
  }

  /// `name=value` with `&` between them; what has no name follows the path.
  private static func parameters(_ line: String) -> (query: [String: String], path: String) {
    var query: [String: String] = [:]
    var path = ""
    for part in line.split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if sides.count == 2 { query[String(sides[0])] = String(sides[1]) } else { path += "/" + part }
    }
    return (query, path)
  }

  private static let routes = [
    ("POST", "/v1/push"), ("GET", "/v1/changes"), ("GET", "/v1/watch"), ("GET", "/v1/digests"), ("POST", "/v1/records"),
    ("GET", "/v1/account"), ("POST", "/v1/files/missing"), ("POST", "/v1/files/digests"), ("GET", "/v1/files"),
    ("GET", "/v1"),
  ]

  private static let server: FuzzServer = {
    do {
      return try FuzzServer()
    } catch {
      fatalError("the server of the fuzz target: \(error)")
    }
  }()

  private static var headers: [String: String] {
    [
      "authorization": "Bearer \(server.token)", "content-type": "application/json", "host": "localhost",
      WireProtocol.header.lowercased(): "\(WireProtocol.version)",
    ]
  }
}
