import HTTPServer
import SyncModel
import TestSupport

extension SimulatedNetwork {
  /// Lets some responses say of one operation that the server could not execute it in time, although it has. The device sends
  /// the operation again.
  func delaying(_ response: Response?, to request: Request) -> Response? {
    guard request.path == "/v1/push", var response, response.status == 200, random.chance(trouble / 4),
      var message = try? PushResponse(wire: SyncValue(parsing: String(decoding: response.body, as: UTF8.self))),
      !message.results.isEmpty
    else { return response }
    let index = random.number(0..<message.results.count)
    let problem = ServerProblem(
      title: "Busy", status: random.pick([429, 500, 503]), detail: "the server could not execute the operation in time")
    message.results[index].outcome = .rejected(problem)
    // The cursor is behind the effects of the request, and a server gives none if it does not know all of them.
    message.cursor = nil
    response.body = Array(message.wire.json.utf8)
    trace.tally("result: delayed with status \(problem.status)")
    return response
  }
}
