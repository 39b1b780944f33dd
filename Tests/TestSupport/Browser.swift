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
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
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
    let bytes = Array((head + "Connection: close\r\n\r\n" + body).utf8)
    _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      received += buffer[..<count]
    }
    let end = try #require(Data(received).range(of: Data("\r\n\r\n".utf8)))
    let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { headers[parts[0].lowercased()] = parts[1] }
    }
    let reply = Reply(
      status: try #require(Int(lines[0].split(separator: " ")[1])), headers: headers,
      body: Array(received[end.upperBound...]))
    if let set = headers["set-cookie"] { cookie = String(set.prefix { $0 != ";" }) }
    if let range = reply.text.range(of: #"name="_token" value="[0-9a-f]*""#, options: .regularExpression) {
      token = String(reply.text[range].dropFirst(#"name="_token" value=""#.count).dropLast())
    }
    return reply
  }
}
