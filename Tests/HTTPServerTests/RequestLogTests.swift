import Platform
import SyncModel
import TestSupport
import Testing

@testable import HTTPServer

@Suite struct RequestLogTests {
  private static let request = CompletedRequest(
    id: "f00d", method: "POST", pattern: "/v1/push", status: 200, duration: .milliseconds(12), bytes: 345,
    account: "water \"works\"", device: "d1")

  private func lines(
    _ format: RequestLog.Format, hasRequests: Bool = true, _ body: (RequestLog) -> Void
  ) -> [String] {
    let lines = Locked<[String]>([])
    let log = RequestLog(format: format, hasRequests: hasRequests) { line in lines.withLock { $0.append(line) } }
    body(log.timed(by: TestClock(1_767_225_600_000, isRunning: false).clock))
    return lines.withLock { $0 }
  }

  @Test("A line of text has the time, the route, the status, the duration and the size, and no account")
  func text() {
    let found = lines(.text) { log in
      log.note(Self.request)
      log.note(Self.request, isSlow: true)
      log.note(CompletedRequest(id: "1", method: "BREW", pattern: nil, status: 404, duration: .zero, bytes: 0))
      log.failure("the disk is full")
      log.failure("/v1/push: the disk is full", request: "f00d")
    }
    let time = "2026-01-01T00:00:00.000Z"
    #expect(
      found == [
        "\(time) POST /v1/push 200 12ms 345B", "\(time) slow: POST /v1/push 200 12ms 345B",
        "\(time) OTHER - 404 0ms 0B",
        "\(time) error: the disk is full", "\(time) error: /v1/push: the disk is full (request f00d)",
      ])
  }

  @Test("A line of JSON has every known member")
  func json() throws {
    let found = lines(.json) { log in
      log.note(Self.request)
      log.note(
        CompletedRequest(id: "1", method: "GET", pattern: nil, status: 404, duration: .seconds(2), bytes: 7),
        isSlow: true)
      log.failure("the disk \"/\" is full", request: "f00d")
      log.failure("the disk is full")
    }
    #expect(
      try found.map { try SyncValue(parsing: $0) } == [
        [
          "account": "water \"works\"", "bytes": 345, "device": "d1", "level": "info", "message": "request",
          "method": "POST", "milliseconds": 12, "requestId": "f00d", "route": "/v1/push", "status": 200,
          "time": "2026-01-01T00:00:00.000Z",
        ],
        [
          "bytes": 7, "level": "warning", "message": "slow request", "method": "GET", "milliseconds": 2000,
          "requestId": "1", "status": 404, "time": "2026-01-01T00:00:00.000Z",
        ],
        [
          "level": "error", "message": "the disk \"/\" is full", "requestId": "f00d",
          "time": "2026-01-01T00:00:00.000Z",
        ],
        ["level": "error", "message": "the disk is full", "time": "2026-01-01T00:00:00.000Z"],
      ])
    #expect(found.allSatisfy { !$0.contains("\n") })
  }

  @Test("Without requests, a log has slow requests and failures")
  func withoutRequests() {
    let found = lines(.text, hasRequests: false) { log in
      log.note(Self.request)
      log.note(Self.request, isSlow: true)
      log.failure("the disk is full")
    }
    #expect(found.count == 2 && found[0].contains("slow: ") && found[1].contains("error: "))
  }

  @Test("The id of a client is used if it is short and plain")
  func clientIds() {
    func id(_ text: String?) -> String? {
      Request(method: "GET", path: "/", headers: text.map { ["x-request-id": $0] } ?? [:]).clientId
    }
    let longest = String(repeating: "a", count: 64)
    for good in ["1", "a-b_c.D9", longest] { #expect(id(good) == good) }
    for bad in [nil, "", longest + "a", "a b", "a\"b", "é", "a\u{0301}", "a,b", "a/b"] { #expect(id(bad) == nil) }
  }
}
