@testable import HTTPServer

extension RequestHead {
  /// The head that libmicrohttpd would find in a text: a request line, then one header on each line.
  init(text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let words = (lines.first ?? "").split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    let target = (words.dropFirst().first ?? "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let parameters = (target.dropFirst().first ?? "").split(separator: "&").map { parameter in
      let sides = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: String(sides[0]), value: String(sides.dropFirst().first ?? ""))
    }
    let fields = lines.dropFirst().map { line in
      let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: String(sides[0]), value: String((sides.dropFirst().first ?? "").drop { $0 == " " }))
    }
    self.init(
      method: String(words.first ?? ""), path: String(target.first ?? ""),
      version: String(words.dropFirst(2).first ?? ""),
      parameters: parameters, fields: fields, isPlain: true)
  }

  /// The head that a client writes for a request.
  init(_ request: Request) {
    self.init(
      method: request.method, path: request.path == "*" ? "*" : Self.escaped(request.path, keeping: "/"),
      version: request.headers["host"] == nil ? "HTTP/1.0" : "HTTP/1.1",
      parameters: request.query.map { (Self.escaped($0.key), Self.escaped($0.value)) },
      fields: request.headers.map { ($0.key, $0.value) }, isPlain: true)
  }

  private static func escaped(_ text: String, keeping kept: String = "") -> String {
    text.utf8.map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: return String(UnicodeScalar(byte))
      case _ where kept.utf8.contains(byte): return String(UnicodeScalar(byte))
      default: return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
  }
}
