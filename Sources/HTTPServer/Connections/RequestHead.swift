/// Converts the parts of a request that libmicrohttpd found into a ``Request``, or refuses parts that two parsers
/// could read differently (RFC 9112): a proxy in front of this server must see the same requests as the server.
struct RequestHead {
  var method: String
  /// The path before percent escapes are resolved.
  var path: String
  var version: String
  /// The received names and values, with percent escapes.
  var parameters: [(name: String, value: String)]
  /// The received names and values.
  var fields: [(name: String, value: String)]
  /// Whether the lines have the required form; see `cmicrohttpd_is_plain`.
  var isPlain: Bool

  /// The fields that this server uses and that must not be repeated.
  private static let single: Set<String> = [
    "host", "content-length", "transfer-encoding", "authorization", "content-type", "expect", "range", "if-range",
    "upload-length", "upload-offset", "upload-defer-length", "upload-metadata", "upload-checksum", "tus-resumable",
    "x-http-method-override",
  ]

  /// - Throws: ``HTTPProblem`` with 400 that names the problem.
  func request() throws(HTTPProblem) -> Request {
    guard isPlain else { throw Self.refusal("its lines violate RFC 9112") }
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else { throw Self.refusal("its version is not HTTP/1.1") }
    guard Self.isToken(method) else { throw Self.refusal("its method is not a token") }
    let headers = try headers()
    try checkFraming(headers)
    try checkHost(headers["host"])
    guard let path = Self.path(path) else { throw Self.refusal("its path is ambiguous") }
    var query: [String: String] = [:]
    for parameter in parameters {
      // libmicrohttpd writes a space where + stood.
      guard [parameter.name, parameter.value].allSatisfy({ Self.isWritten($0, allowing: " ") }) else {
        throw Self.refusal("a parameter contains an invalid character")
      }
      guard let name = Self.unescaped(parameter.name), let value = Self.unescaped(parameter.value) else {
        throw Self.refusal("a parameter has an invalid percent escape")
      }
      guard query.updateValue(value, forKey: name) == nil else { throw Self.refusal("a parameter appears twice") }
    }
    return Request(method: method, path: path, query: query, headers: headers)
  }

  private func headers() throws(HTTPProblem) -> [String: String] {
    var headers: [String: String] = [:]
    for field in fields {
      let name = field.name.lowercased()
      guard Self.isToken(name) else { throw Self.refusal("a header name is not a token") }
      guard field.value.utf8.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else {
        throw Self.refusal("a header contains a control character")
      }
      let isRepeated = headers.updateValue(field.value, forKey: name) != nil
      guard !isRepeated || !Self.single.contains(name) else { throw Self.refusal("the header \(name) appears twice") }
    }
    return headers
  }

  /// Checks that the request states the length of its body in only one way.
  private func checkFraming(_ headers: [String: String]) throws(HTTPProblem) {
    if let coding = headers["transfer-encoding"] {
      guard headers["content-length"] == nil else {
        throw Self.refusal("it has both Content-Length and Transfer-Encoding")
      }
      guard version == "HTTP/1.1", coding.lowercased() == "chunked" else {
        throw Self.refusal("its Transfer-Encoding is not chunked")
      }
    }
    if let length = headers["content-length"] {
      guard !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        throw Self.refusal("its Content-Length is not a number")
      }
    }
  }

  private func checkHost(_ host: String?) throws(HTTPProblem) {
    guard let host else {
      guard version == "HTTP/1.0" else { throw Self.refusal("the Host header is missing") }
      return
    }
    let marks = Set("-._~:[]%!$&'()*+,;=".utf8)
    guard !host.isEmpty, host.utf8.allSatisfy({ Self.isAlphanumeric($0) || marks.contains($0) }) else {
      throw Self.refusal("its Host is not a host name")
    }
  }

  // MARK: Text

  /// Returns a path with percent escapes resolved. Returns `nil` for a path that other programs could read differently:
  /// with an escaped slash, backslash or control character, with `.` or `..` as a part, or with invalid characters.
  static func path(_ raw: String) -> String? {
    if raw == "*" { return raw }
    guard raw.hasPrefix("/"), isWritten(raw) else { return nil }
    guard !escapes(in: raw).contains(where: { [UInt8(ascii: "/"), UInt8(ascii: "\\")].contains($0) }),
      let path = unescaped(raw)
    else { return nil }
    // By bytes: a slash and a combining character behind it are one Character.
    let parts = path.utf8.split(separator: UInt8(ascii: "/"))
    guard !parts.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else { return nil }
    return path
  }

  /// Returns whether a part of a request target has only characters that need no escape (RFC 3986, section 2).
  private static func isWritten(_ raw: String, allowing others: String = "") -> Bool {
    raw.utf8.allSatisfy { byte in
      (0x21...0x7E).contains(byte) && !"\"#<>\\^`{|}".utf8.contains(byte) || others.utf8.contains(byte)
    }
  }

  /// Decodes percent escapes; `nil` for an incomplete escape, an escaped control character, or invalid UTF-8.
  static func unescaped(_ raw: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(raw.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      let value = high << 4 | low
      guard value >= 0x20, value != 0x7F else { return nil }
      bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns the bytes of percent escapes.
  private static func escapes(in raw: String) -> [UInt8] {
    let bytes = Array(raw.utf8)
    return bytes.indices.compactMap { index in
      guard bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
        let low = digit(bytes[index + 2])
      else { return nil }
      return high << 4 | low
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func isToken(_ text: String) -> Bool {
    let marks = Set("!#$%&'*+-.^_`|~".utf8)
    return !text.isEmpty && text.utf8.allSatisfy { isAlphanumeric($0) || marks.contains($0) }
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }

  private static func refusal(_ reason: String) -> HTTPProblem {
    HTTPProblem(400, "The request is ambiguous", reason, type: "urn:fieldvault:ambiguous-request")
  }
}
