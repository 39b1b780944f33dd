import CipherSQL
import HTTPClient

/// A network on which the first request of a kind carries another token than the one that was sent, such as an expired one. The
/// server refuses it as it refuses that token.
package final class RefusingBackend: HTTPBackend {
  private let inner: any HTTPBackend
  private let method: String
  private let path: String
  private let token: String
  private let count = Locked(0)

  /// - Parameters:
  ///   - path: the path of the requests, or its beginning followed by `*`.
  ///   - token: the other token.
  package init(_ inner: any HTTPBackend, method: String, path: String, token: String) {
    (self.inner, self.method, self.path, self.token) = (inner, method, path, token)
  }

  /// The number of requests of the kind.
  package var requests: Int { count.withLock { $0 } }

  package func start(_ request: OutgoingRequest, _ exchange: RequestTask) {
    var request = request
    if isMet(by: request),
      count.withLock({ count in
        count += 1
        return count == 1
      })
    {
      request.headers.removeAll { $0.name == "Authorization" }
      request.headers.append((name: "Authorization", value: "Bearer \(token)"))
    }
    inner.start(request, exchange)
  }

  package func stop(_ exchange: RequestTask) { inner.stop(exchange) }

  private func isMet(by request: OutgoingRequest) -> Bool {
    // The URL is `http://HOST:PORT/PATH?QUERY`.
    let parts = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
    guard request.method == method, parts.count == 3 else { return false }
    let found = "/" + parts[2].prefix { $0 != "?" }
    return path.hasSuffix("*") ? found.hasPrefix(path.dropLast()) : found == path
  }
}
