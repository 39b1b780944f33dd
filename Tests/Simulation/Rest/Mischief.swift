import HTTPServer
import SyncModel
import TestSupport

/// A response of an API that its documents do not describe.
enum Mischief: String, CaseIterable {
  // Refusals of a request that has no effect.
  case status400 = "status 400"
  case status403 = "status 403"
  case status404 = "status 404"
  case status409 = "status 409"
  case status422 = "status 422"
  /// A firewall returns a page.
  case wall

  // Responses after the effect of a request.
  case status500 = "status 500 after the effect"
  case status502 = "status 502 after the effect"
  case status503 = "status 503 after the effect"
  case status408 = "status 408 after the effect"
  case notJSON = "no JSON"
  case html = "a page"
  /// The body ends early although the response is complete.
  case truncated
  case withoutId = "no id"

  // Pages of lists.
  case stuckNext = "a cursor that does not advance"
  case badNext = "a bad cursor"
  case otherHost = "a next page at another host"
  case earlyEnd = "an early end"
  case shrunk = "a shorter page"
  case shifted = "a shifted page"
  case twice = "a record twice"
  case itemWithoutId = "a record without an id"
  case wrongType = "a record with a wrong type"
  case noList = "no list"
  case errorObject = "an object in place of a list"

  /// Those with which the request has no effect.
  private static let refusals: [Mischief] = [.status400, .status403, .status404, .status409, .status422, .wall]
  private static let damages: [Mischief] = [
    .status500, .status502, .status503, .status408, .notJSON, .html, .truncated,
  ]
  private static let pages: [Mischief] = [
    .stuckNext, .badNext, .otherHost, .earlyEnd, .shrunk, .shifted, .twice, .itemWithoutId, .wrongType, .noList,
    .errorObject,
  ]

  static func draw(_ call: APICall, _ random: inout Seeded) -> Mischief {
    switch call {
    case .list: random.pick(pages + pages + damages + [.status403, .status404, .wall])
    case .create, .find: random.pick(damages + damages + refusals + [.withoutId, .withoutId])
    default: random.pick(damages + refusals)
    }
  }

  var refusal: Int? {
    switch self {
    case .status400: 400
    case .status403: 403
    case .status404: 404
    case .status409: 409
    case .status422: 422
    default: nil
    }
  }
}

extension SimulatedAPI {
  /// Returns the response to a request that the API refuses without a reason.
  func refusal(_ mischief: Mischief, _ call: APICall) -> Response? {
    if mischief == .wall { return page(403, "<html>Blocked</html>") }
    guard let status = mischief.refusal else { return nil }
    if status == 404 {
      switch call {
      // A device believes that the resource was deleted, and its user may create it again.
      case .update(let entity, let id): doubtful.formUnion(store.family(entity.kind.entity, id))
      // A resource that seems to be missing is looked up before it is created, and deletions of it count as done.
      case .delete, .read, .find: return refusal(409, "busy")
      case .list(_, parent: .some): return refusal(409, "busy")
      default: break
      }
    }
    return refusal(status, "refused without a reason")
  }

  /// Returns what a client receives in place of a response.
  func damaged(_ response: Response, _ mischief: Mischief) -> Response {
    var response = response
    switch mischief {
    case .status500: return refusal(500, "a failure")
    case .status502: return page(502, "<html>Bad gateway</html>")
    case .status503: return .empty(503, [("Retry-After", "9")])
    case .status408: return .empty(408)
    case .html: return page(200, "<html>Welcome</html>")
    case .notJSON:
      response.body = Array("done, really".utf8)
      response.contentType = "application/json"
      response.status = 200
    case .truncated: response.body.removeLast(response.body.count / 2)
    case .withoutId: response.body = withoutId(response.body)
    default: break
    }
    return response
  }

  private func withoutId(_ body: [UInt8]) -> [UInt8] {
    guard case .object(var whole)? = try? SyncValue(parsing: body) else { return body }
    if let envelope = style.envelope, case .object(var record)? = whole[envelope] {
      record["id"] = nil
      whole[envelope] = .object(record)
    } else {
      whole["id"] = nil
    }
    return Array(SyncValue.object(whole).json.utf8)
  }

  private func page(_ status: Int, _ text: String) -> Response {
    Response(status: status, contentType: "text/html", body: Array(text.utf8))
  }
}
