import HTTPServer
import ServerStorage

/// The routes of the operator's own address: figures and health, without a token.
struct AdminService: Sendable {
  let metrics: ServerMetrics
  let records: SyncService
  let log: RequestLog

  /// All routes.
  var routes: [Route<Member>] {
    let dialect = RouteDialect(limiter: records.limiter)
    return [
      Route("GET", "/metrics", .open { await self.text() }, dialect),
      Route("GET", "/v1/health", .open { self.records.health() }, dialect),
      Route("GET", "/v1/ready", .open { try await self.records.ready() }, dialect),
    ]
  }

  private func text() async -> Response {
    let text = await metrics.all.text { name, error in log.failure("cannot read \(name): \(error)") }
    return Response(
      status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
  }
}
