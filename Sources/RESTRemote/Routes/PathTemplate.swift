import HTTPClient

/// A path with variables, such as `/sessions/{sessionId}/dope`.
///
/// `{id}` is the server's id of the record itself, `{uuid}` its UUID, and any other name is a field of it. For a
/// reference it is the server's id of the referenced record. `{chronoSessionId.sessionId}` continues from that
/// record.
public struct PathTemplate: Equatable, Sendable, CustomStringConvertible {
  /// A piece of a path.
  enum Part: Equatable, Sendable {
    case text(String)
    /// Names of fields, from one record to the next.
    case value([String])
  }
  let parts: [Part]
  /// The form in a route file.
  public let description: String

  /// A path.
  /// - Throws: ``RouteProblem`` without a place.
  init(_ text: String) throws(RouteProblem) {
    try Self.check(text)
    var parts: [Part] = []
    var rest = Substring(text)
    while let open = rest.firstIndex(of: "{") {
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw RouteProblem("'\(text)' has a { without a }", hint: "write a placeholder as {sessionId}")
      }
      parts.append(.text(String(rest[..<open])))
      let names = rest[rest.index(after: open)..<close].split(separator: ".", omittingEmptySubsequences: false)
      guard !names.isEmpty, names.allSatisfy({ !$0.isEmpty && !$0.contains("{") }) else {
        throw RouteProblem("'\(text)' has a placeholder without a name", hint: "write a placeholder as {sessionId}")
      }
      parts.append(.value(names.map(String.init)))
      rest = rest[rest.index(after: close)...]
    }
    guard !rest.contains("}") else {
      throw RouteProblem("'\(text)' has a } without a {", hint: "write a placeholder as {sessionId}")
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    (self.parts, description) = (parts, text)
  }

  /// Refuses a text that would leave its position below the server's address.
  static func check(_ text: String) throws(RouteProblem) {
    guard text.hasPrefix("/"), !text.hasPrefix("//") else {
      throw RouteProblem("'\(text)' is not a path", hint: "a path begins with a single /")
    }
    guard let uri = URIReference(text), uri.fragment == nil else {
      throw RouteProblem("'\(text)' has a character that is invalid in paths", hint: "percent-encode it")
    }
    guard !ServerAddress.hasDotSegment(uri.path) else {
      throw RouteProblem("'\(text)' has a '.' or '..' as a segment", hint: "write the resolved path")
    }
  }

  /// The names in the placeholders.
  var placeholders: [[String]] {
    parts.compactMap { part in
      guard case .value(let names) = part else { return nil }
      return names
    }
  }

  /// A value that would make the path name another resource.
  struct UnsafePathValue: Error {
    let names: [String]
    let value: String
  }

  /// Returns the path with its values, encoded.
  /// - Throws: ``UnsafePathValue`` when a segment becomes empty, `.` or `..`, which no encoding can prevent.
  func path(_ value: ([String]) throws -> String) throws -> String {
    var path = ""
    var last: UnsafePathValue?
    func checkLastSegment() throws {
      guard let last, !path.contains("?") else { return }
      let segment = path[(path.lastIndex(of: "/") ?? path.startIndex)...]
      if segment.count <= 1 || ServerAddress.hasDotSegment(String(segment)) { throw last }
    }
    for part in parts {
      switch part {
      case .text(let text):
        let end = text.firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
        path += text[..<end]
        if end < text.endIndex {
          try checkLastSegment()
          last = nil
        }
        path += text[end...]
      case .value(let names):
        let text = try value(names)
        last = UnsafePathValue(names: names, value: text)
        path += ServerAddress.encoded(text)
      }
    }
    try checkLastSegment()
    return path
  }
}

/// A method and a path: `POST /sessions/{sessionId}/dope`.
public struct RouteCall: Equatable, Sendable, CustomStringConvertible {
  /// The HTTP method in upper case.
  public let method: String
  /// The path below the base of the route file.
  public let path: PathTemplate

  /// The form in a route file.
  public var description: String { "\(method) \(path)" }

  /// - Parameter methods: the allowed methods.
  init(_ text: String, methods: [String]) throws(RouteProblem) {
    let words = text.split(separator: " ", maxSplits: 1).map(String.init)
    guard words.count == 2, methods.contains(words[0]) else {
      throw RouteProblem(
        "'\(text)' is not a request",
        hint: "write it as '\(methods[0]) /path', with \(methods.joined(separator: " or "))")
    }
    method = words[0]
    path = try PathTemplate(words[1].trimmed)
  }
}

extension String {
  /// The text without white space at its ends.
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
