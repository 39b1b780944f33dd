import SyncModel
import HTTPClient

/// The response of an API to one request, read by the rules of its route file.
package enum RestResponse: Equatable, Sendable {
  /// Success, with the record if the response has one.
  case done(SyncValue?)
  /// The resource of the path no longer exists.
  case gone
  /// Refused, and it would be again: why, and with which status.
  case invalid(status: Int, detail: String)
  /// The server failed at it, and may have done it all the same.
  case attempt(status: Int, detail: String)
  /// The server cannot handle the request now.
  case later(seconds: Int?)
  /// The token is not valid.
  case credentials
  /// The server is unreachable, or a proxy responded instead.
  case notThere(TransportFailure)

  package init(_ response: HTTPResponse, _ rules: ResponseRules) {
    let isJSON = response.contentType == "application/json" || response.contentType.hasSuffix("+json")
    var document: SyncValue?
    if isJSON, !response.body.isEmpty {
      do throws(SyncModelError) {
        document = try SyncValue(parsing: response.body)
      } catch {
        self = .notThere(.notTheServer(detail: "its response is not JSON: \(error)"))
        return
      }
    }
    let detail = document.flatMap { rules.detail(in: $0) } ?? "the API returned status \(response.status)"
    if let meaning = rules.meanings[response.status] {
      self = Self.result(meaning, document.flatMap { rules.record.value(in: $0) }, response, detail)
      return
    }
    switch response.status {
    case 200..<300:
      // The sign-in page of a captive portal has status 200 too.
      if !isJSON, !response.body.isEmpty {
        self = .notThere(.notTheServer(detail: "its response is not JSON"))
      } else if let ok = rules.ok, let document, ok.value(in: document) != .bool(true) {
        self = .invalid(status: 422, detail: rules.detail(in: document) ?? "the API reports that the request failed")
      } else {
        self = .done(document.flatMap { rules.record.value(in: $0) })
      }
    case 401: self = .credentials
    case 408, 425, 429, 503: self = .later(seconds: response.retryAfterSeconds)
    case 502, 504: self = .notThere(.unreachable(status: response.status))
    case 500..<600: self = .attempt(status: response.status, detail: detail)
    case 404 where isJSON || response.body.isEmpty, 410: self = .gone
    case 413: self = .invalid(status: 413, detail: "it exceeds the size limit of the server")
    case 400..<500 where isJSON || response.body.isEmpty || response.contentType == "text/plain":
      self = .invalid(status: response.status, detail: detail)
    // An HTML page of a firewall, or for a wrong path. It concerns this request, which is tried again.
    case 400..<500:
      self = .attempt(status: response.status, detail: "it returned an HTML page")
    default: self = .notThere(.notTheServer(detail: "it returned status \(response.status)"))
    }
  }

  private static func result(
    _ meaning: ResponseRules.Meaning, _ record: SyncValue?, _ response: HTTPResponse, _ detail: String
  ) -> RestResponse {
    switch meaning {
    case .done: .done(record)
    case .gone: .gone
    case .invalid: .invalid(status: response.status, detail: detail)
    case .later: .later(seconds: response.retryAfterSeconds)
    case .attempt: .attempt(status: response.status, detail: detail)
    case .credentials: .credentials
    }
  }
}

extension ResponseRules {
  /// Returns the API's reason for a refusal, truncated, because it may be as long as a page.
  func detail(in document: SyncValue) -> String? {
    for place in problem {
      switch place.value(in: document) {
      case .text(let text)? where !text.isEmpty: return String(text.prefix(300))
      case .array(let elements)? where !elements.isEmpty:
        return String(elements.map(\.plain).joined(separator: "; ").prefix(300))
      case .object(let object)? where !object.isEmpty:
        return String(object.members.map { "\($0.name): \($0.value.plain)" }.joined(separator: "; ").prefix(300))
      default: continue
      }
    }
    return nil
  }
}

extension SyncValue {
  fileprivate var plain: String {
    switch self {
    case .text(let text): text
    case .array(let elements): elements.map(\.plain).joined(separator: ", ")
    default: json
    }
  }
}
