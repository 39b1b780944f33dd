import SyncModel

extension HTTPTransport {
  /// Sends a request of the wire format and parses its response.
  package func ask<Message: WireMessage>(_ request: HTTPRequest) async throws(RemoteFailure) -> Message {
    var request = request
    request.headers.append((WireProtocol.header, String(WireProtocol.version)))
    let answer: HTTPResponse
    do throws(TransportFailure) {
      answer = try await send(request)
    } catch {
      throw RemoteFailure(error)
    }
    guard answer.status == 200 else { throw RemoteFailure(answer, problem: ServerProblem(answer)) }
    guard answer.contentType == "application/json" else {
      throw RemoteFailure(.notTheServer(detail: "it answers with something that is not JSON"))
    }
    do throws(SyncModelError) {
      return try Message(json: answer.body)
    } catch {
      throw RemoteFailure(.notTheServer(detail: "its answer does not have the format: \(error)"))
    }
  }
}

extension ServerProblem {
  /// Returns the problem in a response; `nil` if the body is not in the format of problems.
  package init?(_ answer: HTTPResponse) {
    guard answer.contentType == "application/problem+json" else { return nil }
    do throws(SyncModelError) {
      try self.init(json: answer.body)
    } catch {
      // The body is not in this format, so the result is `nil`.
      return nil
    }
  }
}
