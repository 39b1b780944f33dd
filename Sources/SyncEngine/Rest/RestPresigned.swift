import WebTransport

import OfflineStore

struct RestPresigned: Sendable {
  let client: RestClient
  let body: RestBody
  let route: PresignedRoute

  func send(_ file: TusSource) async throws(TusProblem) { throw .refused(status: 501) }
}
