import Foundation
import SyncModel
import TestSupport

/// A response of the server, with its body as bytes.
struct FileResponse: Sendable {
  let status: Int
  let headers: [String: String]
  let body: [UInt8]

  /// A response as received; status 0 for none.
  init(_ bytes: [UInt8]) {
    var rest = bytes[...]
    var status = 0
    var headers: [String: String] = [:]
    // `100 Continue` precedes the final response.
    repeat {
      guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { break }
      let lines = String(decoding: rest[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      }
      rest = rest[end.upperBound...]
    } while status == 100
    self.status = status
    self.headers = headers
    body = Array(rest)
  }

  var offset: Int? { headers["upload-offset"].flatMap { Int($0) } }
  var location: String { headers["location"] ?? "" }
  var problem: SyncValue? { try? SyncValue(parsing: body) }
  var type: String {
    if case .text(let text)? = problem?["type"] { return text }
    return ""
  }
}

/// Sends and fetches files over plain sockets, one connection for each request, so that a test decides about every byte.
struct FileClient: Sendable {
  let url: String
  let token: String?

  static let content = "application/offset+octet-stream"

  init(_ client: TestClient) { (url, token) = (client.url, client.token) }

  func head(_ method: String, _ path: String, _ headers: [String: String], length: Int?) -> [UInt8] {
    var all = ["Host": "x", "Tus-Resumable": "1.0.0", "Connection": "close"]
    if let token { all["Authorization"] = "Bearer \(token)" }
    if let length { all["Content-Length"] = String(length) }
    all.merge(headers) { $1 }
    let lines = all.filter { $0.value != "-" }.map { "\($0.key): \($0.value)" }
    return Array((["\(method) \(path) HTTP/1.1"] + lines).joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8)
  }

  /// A header with the value `-` is left out.
  func request(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> FileResponse {
    let connection = try RawConnection(to: url)
    return FileResponse(
      await connection.receiveBytes(sending: head(method, path, headers, length: body?.count) + (body ?? [])))
  }

  static func metadata(_ pairs: KeyValuePairs<String, String>) -> String {
    pairs.map { "\($0.key) \(Data($0.value.utf8).base64EncodedString())" }.joined(separator: ",")
  }

  func begin(
    _ length: Int, as content: String? = nil, _ variant: String = "full", _ headers: [String: String] = [:]
  ) async throws -> FileResponse {
    var all = ["Upload-Length": String(length)]
    if let content { all["Upload-Metadata"] = Self.metadata(["content": content, "variant": variant]) }
    return try await request("POST", "/v1/files", all.merging(headers) { $1 })
  }

  func patch(
    _ path: String, at offset: Int, _ bytes: [UInt8], _ headers: [String: String] = [:]
  ) async throws -> FileResponse {
    let all = ["Upload-Offset": String(offset), "Content-Type": Self.content].merging(headers) { $1 }
    return try await request("PATCH", path, all, body: bytes)
  }

  /// Announces bytes, sends some of them, and closes the connection.
  func cutPatch(
    _ path: String, at offset: Int, _ bytes: [UInt8], after count: Int, _ headers: [String: String] = [:]
  ) throws {
    let all = ["Upload-Offset": String(offset), "Content-Type": Self.content].merging(headers) { $1 }
    let connection = try RawConnection(to: url)
    _ = connection.send(head("PATCH", path, all, length: bytes.count) + bytes.prefix(count))
  }

  func offset(_ path: String) async throws -> Int {
    let response = try await request("HEAD", path)
    guard response.status == 200, let offset = response.offset else { throw Unexpected("HEAD is \(response.status)") }
    return offset
  }

  /// Sends a whole content.
  func upload(_ bytes: [UInt8], as content: String, _ variant: String = "full") async throws {
    let begun = try await begin(bytes.count, as: content, variant)
    let response = try await patch(begun.location, at: 0, bytes)
    guard response.status == 204, response.offset == bytes.count else {
      throw Unexpected("PATCH is \(response.status)")
    }
  }

  func fetch(_ content: String, _ variant: String = "full", _ headers: [String: String] = [:]) async throws
    -> FileResponse
  {
    try await request("GET", "/v1/files/\(content)/\(variant)", headers)
  }
}

extension TestServer {
  func fileClient(_ user: String, account: String = "water") throws -> FileClient {
    FileClient(try client(user, account: account))
  }

  /// Waits until so many lines of the log have some words.
  func waitForLog(_ words: String, count: Int = 1) async throws {
    try await eventually("'\(words)' in the log") {
      lines.withLock { $0.count { $0.contains(words) } } >= count
    }
  }
}
