import Foundation
import ServerSupport
import SyncModel
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response of the server.
struct JSONResponse: Sendable {
  let status: Int
  let contentType: String
  let headers: [String: String]
  let json: SyncValue

  subscript(_ path: String...) -> SyncValue? {
    path.reduce(json as SyncValue?) { value, name in
      switch value {
      case .object(let object): object[name]
      case .array(let elements): Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: nil
      }
    }
  }

  func text(_ name: String) -> String {
    if case .text(let text)? = self[name] { return text }
    return ""
  }

  func list(_ name: String) -> [SyncValue] {
    if case .array(let elements)? = self[name] { return elements }
    return []
  }
}

extension SyncValue {
  subscript(_ name: String) -> SyncValue? {
    if case .object(let object) = self { return object[name] }
    return nil
  }
}

/// Speaks to a server as a device does.
struct TestClient: Sendable {
  let url: String
  let token: String?

  func request(
    _ method: String, _ path: String, _ body: SyncValue? = nil, raw: [UInt8]? = nil, headers: [String: String] = [:]
  ) async throws -> JSONResponse {
    guard let url = URL(string: url + path) else { throw Unexpected("no URL: \(path)") }
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.timeoutInterval = 60
    request.setValue(String(WireProtocol.version), forHTTPHeaderField: WireProtocol.header)
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    if let bytes = raw ?? body.map({ Array($0.json.utf8) }) {
      request.httpBody = Data(bytes)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await URLSession.shared.data(for: request)
    guard let http = response as? HTTPURLResponse else { throw Unexpected("not an HTTP response") }
    var fields: [String: String] = [:]
    for (name, value) in http.allHeaderFields { fields["\(name)".lowercased()] = "\(value)" }
    return JSONResponse(
      status: http.statusCode, contentType: fields["content-type"] ?? "", headers: fields,
      json: try SyncValue(parsing: Array(data)))
  }

  func get(_ path: String) async throws -> JSONResponse { try await request("GET", path) }

  /// Pushes as a device that has not pushed before. Base versions belong to the current epoch unless an operation names one.
  func push(_ operations: [SyncValue], cursor: String? = nil) async throws -> JSONResponse {
    var operations = operations
    for (index, operation) in operations.enumerated() {
      guard case .object(var members) = operation, members["baseEpoch"] == nil, members["baseVersion"] ?? 0 != 0
      else { continue }
      members["baseEpoch"] = .text(try await get("/v1/account").text("epoch"))
      operations[index] = .object(members)
    }
    var body: SyncObject = [
      "deviceId": .text(newUuid()), "deviceCounter": 1, "operations": .array(operations),
    ]
    if let cursor { body["cursor"] = .text(cursor) }
    return try await request("POST", "/v1/push", .object(body))
  }

  /// The results of a push, as their words.
  func results(_ operations: [SyncValue]) async throws -> [String] {
    try await push(operations).list("results").map(\.word)
  }

  /// All changes after a cursor, page by page, and the cursor behind them.
  func pull(after cursor: String? = nil, limit: Int = 500, projects: String? = nil) async throws -> (
    changes: [SyncValue], cursor: String
  ) {
    var changes: [SyncValue] = []
    var cursor = cursor
    while true {
      let parts =
        ["limit=\(limit)"] + (cursor.map { ["cursor=\($0)"] } ?? []) + (projects.map { ["projects=\($0)"] } ?? [])
      let page = try await get("/v1/changes?" + parts.joined(separator: "&"))
      changes += page.list("changes")
      cursor = page.text("cursor")
      if page["hasMore"] != true { return (changes, page.text("cursor")) }
    }
  }
}

extension SyncValue {
  /// The result of an operation with its reason: `rejected 422 title`.
  var word: String {
    guard case .text(let word)? = self["result"] else { return "?" }
    switch word {
    case "rejected":
      var text = word
      if case .integer(let status)? = self["problem"]?["status"] { text += " \(status)" }
      if case .text(let field)? = self["problem"]?["field"] { text += " \(field)" }
      return text
    case "conflict":
      var text = word
      if case .text(let kind)? = self["conflict"]?["kind"] { text += " \(kind)" }
      if case .array(let fields)? = self["conflict"]?["fields"] {
        for case .text(let field) in fields { text += " \(field)" }
      }
      return text
    case "waiting":
      if case .text(let other)? = self["waitsFor"] { return "\(word) \(other)" }
      return word
    default: return word
    }
  }
}
