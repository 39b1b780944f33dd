import SyncModel

extension HTTPTransport {
  /// Sends a request of the wire format and parses its response.
  package func ask<Message: WireMessage>(_ request: HTTPRequest) async throws(RemoteFailure) -> Message {
    var request = request
    request.headers.append((WireProtocol.header, String(WireProtocol.version)))
    request.tokenRefusal?.body = .problem
    let response: HTTPResponse
    do throws(TransportFailure) {
      response = try await send(request)
    } catch {
      throw RemoteFailure(error)
    }
    guard response.status == 200 else { throw RemoteFailure(response, problem: ServerProblem(response)) }
    guard response.contentType == "application/json" else {
      throw RemoteFailure(.notTheServer(detail: "its response is not JSON"))
    }
    do throws(SyncModelError) {
      return try Message(json: response.body)
    } catch {
      throw RemoteFailure(.notTheServer(detail: "its response is malformed: \(error)"))
    }
  }
}

extension ServerProblem {
  /// Returns the problem in a response; `nil` if the body is not in the format of problems.
  package init?(_ response: HTTPResponse) {
    guard response.contentType == "application/problem+json" else { return nil }
    do throws(SyncModelError) {
      try self.init(json: response.body)
    } catch {
      // The body is not in this format, so the result is `nil`.
      return nil
    }
  }
}
