import SyncModel
import Testing
import HTTPClient

@testable import SyncEngine

/// The meaning of each status, with and without a problem document of the server.
@Suite struct ResponseClassTests {
  @Test(
    "A status is classified with and without the server's problem document",
    arguments: [
      (200, .ok, .ok), (201, .unreachable, .unreachable), (204, .unreachable, .unreachable),
      (302, .unreachable, .unreachable), (304, .unreachable, .unreachable), (400, .refused, .unreachable),
      (401, .pauseCredentials, .unreachable), (403, .pauseCredentials, .unreachable), (404, .refused, .unreachable),
      (405, .refused, .unreachable), (407, .unreachable, .unreachable), (408, .unreachable, .unreachable),
      (409, .refused, .unreachable), (410, .cursorUnknown, .unreachable), (413, .tooLarge, .tooLarge),
      (415, .refused, .unreachable), (418, .refused, .unreachable), (422, .refused, .unreachable),
      (429, .later(seconds: 9), .later(seconds: 9)), (500, .attempt, .unreachable), (501, .unreachable, .unreachable),
      (502, .unreachable, .unreachable), (503, .unreachable, .unreachable), (504, .unreachable, .unreachable),
      (507, .unreachable, .unreachable), (511, .unreachable, .unreachable),
    ] as [(Int, ResponseClass, ResponseClass)])
  func aStatus(status: Int, said: ResponseClass, unsaid: ResponseClass) {
    let problem = ServerProblem(title: "No", status: status, detail: "")
    #expect(ResponseClass(status: status, problem: problem, retryAfterSeconds: 9) == said)
    #expect(ResponseClass(status: status, problem: nil, retryAfterSeconds: 9) == unsaid)
  }

  @Test("A 403 for a revoked device and one for a full account have their own classes") func refusedDevices() {
    for (type, meaning) in [
      (ServerProblem.deviceRevoked, ResponseClass.deviceRevoked), (ServerProblem.quotaExceeded, .quotaExceeded),
    ] {
      let problem = ServerProblem(type: type, title: "", status: 403, detail: "")
      #expect(ResponseClass(status: 403, problem: problem) == meaning)
    }
  }

  @Test("A 409 for an old schema has its own class") func aConflictOfSchemas() {
    let problem = ServerProblem(type: ServerProblem.schemaTooOld, title: "", status: 409, detail: "")
    #expect(ResponseClass(status: 409, problem: problem) == .schemaTooOld)
  }

  @Test(
    "A transport failure is classified and has a hint",
    arguments: [
      (.noConnection(detail: ""), .unreachable), (.notTheServer(detail: ""), .unreachable),
      (.timedOut(seconds: 1), .unreachable), (.cancelled, .cancelled), (.tooLarge(limitBytes: 1), .tooLarge),
      (.badToken, .pauseCredentials), (.insecure(detail: ""), .refused), (.badAddress(detail: ""), .refused),
    ] as [(TransportFailure, ResponseClass)])
  func aFailureOfTheWay(failure: TransportFailure, meaning: ResponseClass) {
    #expect(ResponseClass(failure) == meaning)
    #expect(!failure.hint.isEmpty)
  }
}
