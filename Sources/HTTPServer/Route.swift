import SyncModel

/// One method of one path, and its handler.
package struct Route<User: Caller>: Sendable {
  /// The access to a route.
  package enum Access: Sendable {
    /// Open to every client.
    case open(@Sendable () async throws -> Response)
    /// Open to every valid token.
    case authenticated(@Sendable (RouteCall<User>) async throws -> Response)
    /// Open to every valid token. The body is streamed to the returned destination.
    case upload(@Sendable (RouteCall<User>) async throws -> any BodySink)
  }

  package let method: String
  /// The path, with variables in braces: `/v1/digests/{entity}`.
  package let pattern: String
  package let dialect: RouteDialect
  package let access: Access
  private let parts: [Part]

  private enum Part: Equatable {
    case word(String)
    case variable(String)
  }

  package init(_ method: String, _ pattern: String, _ access: Access, _ dialect: RouteDialect) {
    self.method = method
    self.pattern = pattern
    self.dialect = dialect
    self.access = access
    parts = pattern.split(separator: "/").map { part in
      part.hasPrefix("{") ? .variable(String(part.dropFirst().dropLast())) : .word(String(part))
    }
  }

  /// Whether its handler reads a collected body. Bodies of other routes are dropped.
  var takesBody: Bool { dialect.takesJSON && method == "POST" }

  /// Returns the values of the variables if a path matches the route; otherwise `nil`.
  func variables(in path: PathParts) -> [String: String]? {
    guard let words = path.words, words.count == parts.count else { return nil }
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

/// A path, split once for all routes.
struct PathParts {
  /// The words between the slashes; `nil` for a path that does not begin with a slash.
  let words: [Substring]?

  init(_ path: String) {
    guard path.unicodeScalars.first == "/" else {
      words = nil
      return
    }
    // By scalars: a slash and a combining character behind it are one Character.
    words = path.unicodeScalars.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(Substring.init)
  }
}

/// A user's request for a handler.
package struct RouteCall<User: Caller>: Sendable {
  package let request: Request
  package let caller: User
  /// The values of the variables.
  package let variables: [String: String]

  package init(request: Request, caller: User, variables: [String: String]) {
    (self.request, self.caller, self.variables) = (request, caller, variables)
  }

  /// Parses the body of the request as a message of the wire format.
  /// - Throws: ``HTTPProblem`` with 400 that names the member.
  package func body<Message: WireMessage>(as type: Message.Type = Message.self) throws(HTTPProblem) -> Message {
    do throws(SyncModelError) {
      return try Message(json: request.body)
    } catch {
      throw .badRequest("the body is invalid: \(error)", field: error.member)
    }
  }

  /// Returns a parameter as an integer.
  /// - Throws: ``HTTPProblem`` with 422 that names the parameter.
  package func integer(_ name: String, default standard: Int, in range: ClosedRange<Int>) throws(HTTPProblem) -> Int {
    guard let text = request.query[name] else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw .invalid("\(name) must be an integer from \(range.lowerBound) to \(range.upperBound)", field: name)
    }
    return number
  }
}
