import SyncModel
import HTTPClient

extension FieldVaultFiles {
  /// The number of times that one attempt requests an address.
  private static let mostAddresses = 3

  /// Runs a body with an address that the server names for a file. Good for some minutes only: a long download on a slow link
  /// asks for another on its way.
  func withPresignedSource(
    _ path: String, _ body: (HTTPRequest) async throws(DownloadProblem) -> Void
  ) async throws(DownloadProblem) {
    var asked = 0
    while true {
      let source = try await source(path)
      asked += 1
      do throws(DownloadProblem) {
        return try await body(source)
      } catch {
        guard !source.isAuthorized, let status = Self.expiry(error) else { throw Self.ofStore(error, source) }
        guard asked < Self.mostAddresses else { throw .serverFailed(status: status) }
      }
    }
  }

  private func source(_ path: String) async throws(DownloadProblem) -> HTTPRequest {
    let address: FileAddress
    do throws(RemoteFailure) {
      address = try await transport.ask(HTTPRequest(path + "/download-address", body: Array("{}".utf8)))
    } catch {
      throw DownloadProblem(asking: error)
    }
    // A path is one of the server itself, such as that of a file from before it used an object store.
    var request = HTTPRequest(address.url, isAuthorized: address.url.hasPrefix("/"))
    request.headers = address.headers.map { ($0.key, $0.value) }
    return request
  }

  /// The status with which a store refuses an address that has expired; nil for other problems.
  private static func expiry(_ problem: DownloadProblem) -> Int? {
    switch problem {
    // Whom a store does not know has no token to look after: the address is at fault.
    case .credentials: 403
    case .refused(let status) where status == 400: status
    default: nil
    }
  }

  /// Returns the problem of a store. Its failure does not concern the server.
  private static func ofStore(_ problem: DownloadProblem, _ source: HTTPRequest) -> DownloadProblem {
    guard !source.isAuthorized, case .transport(let failure) = problem, failure != .cancelled else { return problem }
    return .storeNotReached(failure)
  }
}

extension DownloadProblem {
  /// Returns the meaning of the server's response to the request for an address.
  init(asking failure: RemoteFailure) {
    self =
      switch (failure.responseClass, failure.problem?.status) {
      case (.cancelled, _): .transport(.cancelled)
      case (_, 404?), (_, 410?): .absent
      case (.pauseCredentials, _): .credentials
      case (.later(let seconds), _): .later(seconds: seconds)
      case (_, 503?): .later(seconds: failure.retryAfterSeconds)
      case (.attempt, let status): .serverFailed(status: status ?? 500)
      case (.unreachable, _): .transport(.noConnection(detail: "the server sends no address"))
      case (_, let status): .refused(status: status ?? 0)
      }
  }
}
