import HTTPServer

/// The rules of the routes of files. Their requests are counted together, separately from requests about records.
struct FileDialects: Sendable {
  /// The tus protocol.
  let tus: RouteDialect
  /// Downloads.
  let content: RouteDialect
  /// Queries about files, with JSON in both directions.
  let question: RouteDialect

  init(_ limiter: RateLimiter) {
    tus = RouteDialect(
      limiter: limiter, headers: [(Tus.versionHeader, Tus.version)], method: { Tus.method(of: $0) },
      check: { request throws(HTTPProblem) in try Tus.checkVersion(of: request) })
    content = RouteDialect(limiter: limiter)
    question = RouteDialect(limiter: limiter, takesJSON: true)
  }
}
