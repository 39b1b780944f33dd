import SyncModel

/// A problem response in the form of RFC 9457.
///
/// The texts name fields and rules, never a value.
public struct HTTPProblem: Error, Equatable, Sendable {
  /// The HTTP status.
  public let status: Int
  /// The kind as a URN; `about:blank` if the status is sufficient.
  public let type: String
  /// The kind as text.
  public let title: String
  /// The problem of this request.
  public let detail: String
  /// The wrong field, if the problem concerns a field.
  public var field: String?
  /// The delay before a retry, in seconds.
  public var retryAfter: Int?
  /// The methods that the path allows, for status 405.
  package var allowed: [String] = []
  /// Whether the request had a token, for status 401.
  package var hasToken = false
  /// Headers of the response in addition to the default ones.
  package var headers: [String: String] = [:]

  /// Creates a problem.
  public init(
    _ status: Int, _ title: String, _ detail: String, type: String = "about:blank", field: String? = nil,
    retryAfter: Int? = nil
  ) {
    self.status = status
    self.type = type
    self.title = title
    self.detail = detail
    self.field = field
    self.retryAfter = retryAfter
  }

  /// The problem in the wire format.
  package var problem: ServerProblem {
    ServerProblem(type: type, title: title, status: status, detail: detail, field: field)
  }

  /// The response to the whole request.
  package var response: Response {
    var response = Response.json(problem.wire, status: status)
    response.contentType = "application/problem+json"
    if let retryAfter { response.headers.append(("Retry-After", String(retryAfter))) }
    if !allowed.isEmpty { response.headers.append(("Allow", allowed.joined(separator: ", "))) }
    for header in headers.sorted(by: { $0.key < $1.key }) { response.headers.append((header.key, header.value)) }
    if status == 401 {
      response.headers.append(("WWW-Authenticate", hasToken ? "Bearer error=\"invalid_token\"" : "Bearer"))
    }
    return response
  }
}

extension HTTPProblem {
  /// The body, or a part of it, is not valid for the route.
  package static func badRequest(_ detail: String, field: String? = nil) -> HTTPProblem {
    HTTPProblem(400, "The request is invalid", detail, field: field)
  }

  /// A well-formed request with a value that is not allowed.
  package static func invalid(_ detail: String, field: String? = nil) -> HTTPProblem {
    HTTPProblem(422, "A value is not allowed", detail, field: field)
  }

  package static let unauthorized = HTTPProblem(
    401, "No valid token", "the request needs the header Authorization: Bearer TOKEN with a valid token")
  /// The request has a token that is not valid.
  /// - Parameter reason: without a part of the token.
  package static func invalidToken(_ reason: String) -> HTTPProblem {
    var problem = HTTPProblem(401, "No valid token", reason)
    problem.hasToken = true
    return problem
  }

  package static let noSuchRoute = HTTPProblem(404, "No such path", "GET /v1/openapi.json lists all paths")
  package static let notJSON = HTTPProblem(
    415, "The body is not JSON", "the request needs the header Content-Type: application/json")
  package static let failure = HTTPProblem(500, "The server failed", "see the log of the server")

  package static let notNow = HTTPProblem(
    503, "The server is unavailable", "it is stopping or its machine fails; see the log of the server", retryAfter: 30)

  package static func wrongMethod(allowed: [String]) -> HTTPProblem {
    var problem = HTTPProblem(405, "The method is not allowed", "the path allows \(allowed.joined(separator: ", "))")
    problem.allowed = allowed
    return problem
  }

  package static func bodyTooLarge(limit: Int) -> HTTPProblem {
    HTTPProblem(413, "The body is too large", "a body may have at most \(limit) bytes")
  }

  package static func noMemory(_ refusal: BodyMemory.Refusal) -> HTTPProblem {
    switch refusal {
    case .user: HTTPProblem(429, "Too many bodies at once", "wait until other requests end", retryAfter: 1)
    case .process: HTTPProblem(503, "The server is overloaded", "too many request bodies at once", retryAfter: 1)
    }
  }

  package static func tooManyRequests(retryAfter: Int) -> HTTPProblem {
    HTTPProblem(429, "Too many requests", "wait \(retryAfter) s", retryAfter: retryAfter)
  }
}
