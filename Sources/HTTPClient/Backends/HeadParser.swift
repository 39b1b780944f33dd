/// Builds the head of a response from its lines.
struct HeadParser {
  /// The limit of all lines together, far above the headers of a FieldVault server.
  static let greatestBytes = 256 << 10

  private var head: ResponseHead?
  private var bytes = 0

  /// The result of a line.
  enum Step: Equatable {
    case incomplete
    case head(ResponseHead)
    case tooLong
  }

  /// Adds a line with its end. The empty line completes the head, except for an interim response (1xx).
  mutating func take(_ line: UnsafeRawBufferPointer) -> Step {
    bytes += line.count
    if bytes > Self.greatestBytes { return .tooLong }
    let text = String(decoding: line.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      let status = text.split(separator: " ", omittingEmptySubsequences: false).dropFirst().first.flatMap { Int($0) }
      head = status.map { ResponseHead(status: $0) }
    } else if text.isEmpty {
      defer { head = nil }
      return head.map { $0.status >= 200 ? .head($0) : .incomplete } ?? .incomplete
    } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
      head?.headers[text[..<colon].lowercased()] = Self.trimmed(text[colon...].dropFirst())
    }
    return .incomplete
  }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
