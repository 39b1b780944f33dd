/// One method of one path, and its handler.
struct Route: Sendable {
  /// The access to a route.
  enum Access: Sendable {
    /// Everybody.
    case open(@Sendable () async throws -> Response)
    /// Every valid token.
    case member(@Sendable (RouteCall) async throws -> Response)
    /// Every valid token. The body is streamed to the returned destination.
    case upload(@Sendable (RouteCall) async throws -> any BodySink)
  }

  /// The rules for requests and responses in addition to those of the route.
  enum Dialect: Sendable {
    /// Bodies are JSON.
    case json
    /// The tus protocol.
    case tus
    /// Plain downloads.
    case file
    /// Bodies are JSON; counted with the requests about files.
    case fileQuestion
  }

  let method: String
  /// The path, with variables in braces: `/v1/digests/{entity}`.
  let pattern: String
  let dialect: Dialect
  let access: Access
  private let parts: [Part]

  private enum Part: Equatable {
    case word(String)
    case variable(String)
  }

  init(_ method: String, _ pattern: String, _ access: Access, _ dialect: Dialect = .json) {
    self.method = method
    self.pattern = pattern
    self.dialect = dialect
    self.access = access
    parts = pattern.split(separator: "/").map { part in
      part.hasPrefix("{") ? .variable(String(part.dropFirst().dropLast())) : .word(String(part))
    }
  }

  /// Whether a token of the role admin may use it. Such a token neither pushes nor pulls.
  var isForAdmins: Bool { pattern == "/v1/account" }

  /// Whether its handler reads a collected body. Bodies of other routes are dropped.
  var takesBody: Bool { (dialect == .json || dialect == .fileQuestion) && method == "POST" }

  /// The values of the variables when a path is one of this route; else nil.
  func variables(in path: String) -> [String: String]? {
    // By scalars: a slash and a combining character behind it are one Character.
    let words = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).map(Substring.init)
      .dropFirst()
    guard path.unicodeScalars.first == "/", words.count == parts.count else { return nil }
    var values: [String: String] = [:]
    for (part, word) in zip(parts, words) {
      switch part {
      case .word(let expected): if word != expected { return nil }
      case .variable(let name):
        if word.isEmpty { return nil }
        values[name] = String(word)
      }
    }
    return values
  }
}

/// A member's request for a handler.
struct RouteCall: Sendable {
  let request: Request
  let member: Member
  /// The values of the variables.
  let variables: [String: String]

  /// A whole number among the parameters.
  /// - Throws: ``HTTPProblem`` with 422 that names the parameter.
  func integer(_ name: String, default standard: Int, in range: ClosedRange<Int>) throws(HTTPProblem) -> Int {
    guard let text = request.query[name] else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw .invalid("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)", field: name)
    }
    return number
  }
}
