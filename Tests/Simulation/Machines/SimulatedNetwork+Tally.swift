import HTTPServer
import SyncModel

extension SimulatedNetwork {
  /// Counts the statuses of requests and the results of operations.
  func tally(_ request: Request, _ response: Response?, isAwaited: Bool) {
    guard let response else { return trace.tally("response: none") }
    trace.tally("response: \(response.status)")
    guard request.path == "/v1/push", response.status == 200, let push = try? PushResponse(json: response.body) else {
      return
    }
    for result in push.results {
      let kind =
        switch result.outcome {
        case .accepted: "accepted"
        case .merged: "merged"
        case .conflict(let kind, _, _, _): "conflict \(kind.rawValue)"
        case .rejected(let problem): "rejected \(problem.status)"
        case .waiting: "waiting"
        }
      trace.tally("result: \(kind)")
    }
    guard !isAwaited, let sent = try? PushRequest(json: request.body) else { return }
    let isOfOther = sent.operations.contains { $0.baseEpoch != nil && $0.baseEpoch != push.epoch }
    if isOfOther { trace.tally("late push of another epoch") }
  }

  /// The records that a push names.
  static func records(of request: Request) -> [String] { operations(of: request).map(\.entityUuid) }

  /// The operations of a push; none for another request.
  static func operations(of request: Request) -> [PushOperation] {
    guard request.path == "/v1/push", let push = try? PushRequest(json: request.body) else { return [] }
    return push.operations
  }
}
