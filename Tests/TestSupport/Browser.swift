import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A browser without a screen: it keeps the cookie and sends the requests of a test.
package final class Browser {
  package let port: UInt16
  package var cookie: String?
  /// The value that forms send back, from the last page with a form.
  package var token: String?

  package struct Reply {
    package let status: Int
    package let headers: [String: String]
    package let body: [UInt8]
    package var text: String { String(decoding: body, as: UTF8.self) }
  }

  package init(_ link: String) throws {
    port = try #require(URL(string: link)?.port.flatMap(UInt16.init))
  }

  /// Requests a page.
  /// - Parameters:
  ///   - host: the Host header; `nil` for that of the site.
  ///   - origin: the Origin header; `nil` to leave the header out.
  package func get(
    _ path: String, method: String = "GET", host: String? = nil, origin: String? = nil
  ) throws -> Reply {
    try send(
      "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\(cookieLine)"
        + (origin.map { "Origin: \($0)\r\n" } ?? ""))
  }

  /// Sends a form.
  /// - Parameter origin: the Origin header; empty to leave the header out.
  package func post(
    _ path: String, _ fields: [String: String], origin: String? = nil, token: String? = nil
  ) throws -> Reply {
    var allowed = CharacterSet.alphanumerics
    allowed.insert(charactersIn: "-._")
    var all = fields
    all["_token"] = token ?? self.token ?? ""
    let body = all.map { name, value in
      "\(name.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")=\(value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")"
    }.joined(separator: "&")
    let origin = origin ?? "http://127.0.0.1:\(port)"
    return try send(
      "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(cookieLine)\(origin.isEmpty ? "" : "Origin: \(origin)\r\n")"
        + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.utf8.count)\r\n", body)
  }

  private var cookieLine: String { cookie.map { "Cookie: other=1; \($0)\r\n" } ?? "" }

  private func send(_ head: String, _ body: String = "") throws -> Reply {
    let download = try open(head, body)
    var received: [UInt8] = []
    while case let part = try download.next(), !part.isEmpty { received += part }
    let headers = download.headers
    let reply = Reply(status: download.status, headers: headers, body: received)
    if let set = headers["set-cookie"] { cookie = String(set.prefix { $0 != ";" }) }
    if let range = reply.text.range(of: #"name="_token" value="[0-9a-f]*""#, options: .regularExpression) {
      token = String(reply.text[range].dropFirst(#"name="_token" value=""#.count).dropLast())
    }
    return reply
  }

  /// Requests a page whose body the test reads in parts.
  package func open(_ path: String) throws -> Download {
    try open("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(cookieLine)", "")
  }

  private func open(_ head: String, _ body: String) throws -> Download {
    try Download(from: port, Array((head + "Connection: close\r\n\r\n" + body).utf8))
  }
}

/// A response whose body is read in parts.
package final class Download {
  package private(set) var status = 0
  package private(set) var headers: [String: String] = [:]
  /// Whether the last part of the body has arrived, by its length or by the end of its chunks.
  package private(set) var isComplete = false
  private var descriptor: Int32
  private var buffered: [UInt8] = []
  /// The number of bytes of the body that are missing; `nil` for a body in chunks or until the end of the connection.
  private var missing: Int?
  private var isChunked: Bool { headers["transfer-encoding"] == "chunked" }

  fileprivate init(from port: UInt16, _ request: [UInt8]) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    let lines = try line(ending: "\r\n\r\n").components(separatedBy: "\r\n")
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1] }
    }
    self.status = try #require(Int(lines[0].split(separator: " ")[1]))
    if !isChunked { missing = headers["content-length"].flatMap { Int($0) } }
  }

  deinit { close() }

  /// Closes the connection.
  package func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Returns the next bytes of the body; empty at its end.
  package func next() throws -> [UInt8] {
    if isComplete { return [] }
    if isChunked {
      if missing == nil || missing == 0 {
        guard let size = try? line(ending: "\r\n") else { return [] }
        missing = try #require(Int(size, radix: 16))
        if missing == 0 { isComplete = true }
      }
      if isComplete { return [] }
    }
    if buffered.isEmpty, !receive() {
      isComplete = !isChunked && (missing ?? 0) == 0
      return []
    }
    let part = Array(buffered.prefix(missing ?? .max))
    buffered.removeFirst(part.count)
    missing = missing.map { $0 - part.count }
    if isChunked, missing == 0 { _ = try line(ending: "\r\n") }
    return part
  }

  /// Returns the text before an end.
  private func line(ending end: String) throws -> String {
    while true {
      if let range = Data(buffered).range(of: Data(end.utf8)) {
        defer { buffered.removeFirst(range.upperBound) }
        return String(decoding: buffered[..<range.lowerBound], as: UTF8.self)
      }
      guard receive() else { throw Unexpected("the connection ended too early") }
    }
  }

  private func receive() -> Bool {
    var part = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &part, part.count, 0)
    if count > 0 { buffered += part[..<count] }
    return count > 0
  }
}
