/// The rules that a family of routes shares, in addition to the rules of HTTP.
package struct RouteDialect: Sendable {
  /// The limiter that counts the requests.
  package let limiter: RateLimiter
  /// Whether the handlers of `POST` read a collected body, which is JSON. Bodies of other routes are dropped.
  package let takesJSON: Bool
  /// Headers of every response.
  package let headers: [(name: String, value: String)]
  /// Returns the method that a request means.
  let method: @Sendable (Request) -> String
  /// Refuses a request of another version of the protocol before its token is checked, so that it has no effect.
  let checkVersion: @Sendable (Request) throws(HTTPProblem) -> Void
  /// Refuses a request of a user that breaks another rule of the protocol.
  let check: @Sendable (Request) throws(HTTPProblem) -> Void

  /// Creates a dialect from its rules.
  package init(
    limiter: RateLimiter, takesJSON: Bool = false, headers: [(name: String, value: String)] = [],
    method: @escaping @Sendable (Request) -> String = { $0.method },
    checkVersion: @escaping @Sendable (Request) throws(HTTPProblem) -> Void = { (_) throws(HTTPProblem) in },
    check: @escaping @Sendable (Request) throws(HTTPProblem) -> Void = { (_) throws(HTTPProblem) in }
  ) {
    self.limiter = limiter
    self.takesJSON = takesJSON
    self.headers = headers
    self.method = method
    self.checkVersion = checkVersion
    self.check = check
  }
}
