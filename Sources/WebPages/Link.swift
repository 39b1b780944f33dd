/// An address within the site: a path and parameters. It cannot lead to another site or be a script.
package struct Link: Sendable, Hashable {
  /// The parts of the path, which are words of the program.
  private let path: StaticString
  private var parameters: [(name: String, value: String)] = []

  package init(_ path: StaticString) { self.path = path }

  /// Returns the link with a further parameter; unchanged for `nil`.
  package func with(_ name: String, _ value: String?) -> Link {
    guard let value else { return self }
    var link = self
    link.parameters.append((name, value))
    return link
  }

  /// The link as it is written in an address.
  package var text: String {
    let query = parameters.map { "\(Self.escaped($0.name))=\(Self.escaped($0.value))" }.joined(separator: "&")
    return query.isEmpty ? "\(path)" : "\(path)?\(query)"
  }

  package static func == (left: Link, right: Link) -> Bool { left.text == right.text }
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }

  /// Escapes every byte that RFC 3986 does not list as unreserved.
  private static func escaped(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        bytes.append(byte)
      default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
