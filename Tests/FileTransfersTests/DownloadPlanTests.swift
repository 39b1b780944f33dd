import Testing
@testable import FileTransfers

/// The state machine of downloads, without a network.
@Suite struct DownloadPlanTests {
  private let tag = "\"abc\""

  @Test("A partial download resumes where it ended") func whatIsHereIsGoneOnWith() throws {
    var plan = DownloadPlan(bytes: 10, tag: tag)
    #expect(plan.first == .fetch(offset: 10, tag: tag))
    let accepted = plan.accept(status: 206, headers: ["content-range": "bytes 10-19/20", "etag": tag])
    let part = try #require(accepted)
    #expect(part == (10, 20))
    #expect(plan.next(after: .fetched(bytes: 20, isWhole: true)) == .verify)
    #expect(plan.next(after: .verified(true)) == .done)
  }

  @Test("A changed file restarts the download from the beginning") func anotherFileBeginsAnew() throws {
    var plan = DownloadPlan(bytes: 10, tag: tag)
    let accepted = plan.accept(status: 200, headers: ["content-length": "15", "etag": "\"new\""])
    let part = try #require(accepted)
    #expect(part == (0, 15))
    #expect(plan.tag == "\"new\"")
    #expect(plan.next(after: .fetched(bytes: 7, isWhole: false)) != .verify)
  }

  @Test("A range that was not requested is rejected and the download restarts")
  func aPartThatWasNotAskedForIsNotTaken() {
    var plan = DownloadPlan(bytes: 10, tag: tag)
    for range in ["bytes 9-19/20", "bytes 0-19/20", "bytes */20", "10-19/20", "", "bytes x"] {
      #expect(plan.accept(status: 206, headers: ["content-range": range]) == nil, "\(range)")
    }
    #expect(plan.accept(status: 200, headers: ["content-type": "text/html; charset=utf-8"]) == nil)
    #expect(plan.next(after: .refused(status: 206, retryAfterSeconds: nil, length: nil)) == .empty)
    #expect(plan.next(after: .emptied) == .fetch(offset: 0, tag: nil))
  }

  @Test("A second verification failure reports a damaged file") func whatIsWrongTwiceIsDamaged() {
    var plan = DownloadPlan(bytes: 0, tag: nil)
    #expect(plan.next(after: .fetched(bytes: 5, isWhole: true)) == .verify)
    #expect(plan.next(after: .verified(false)) == .empty)
    #expect(plan.next(after: .emptied) == .fetch(offset: 0, tag: nil))
    #expect(plan.next(after: .fetched(bytes: 5, isWhole: true)) == .verify)
    #expect(plan.next(after: .verified(false)) == .stop(.damaged))
  }

  @Test("A complete file is only verified, and a longer file is discarded") func whatIsWholeAlreadyIsOnlyCompared() {
    var plan = DownloadPlan(bytes: 20, tag: nil)
    #expect(plan.next(after: .refused(status: 416, retryAfterSeconds: nil, length: 20)) == .verify)
    var longer = DownloadPlan(bytes: 30, tag: nil)
    #expect(longer.next(after: .refused(status: 416, retryAfterSeconds: nil, length: 20)) == .empty)
  }

  @Test("Error responses and a cancellation end the attempt with a specific problem") func whatEndsAnAttempt() {
    let ends: [(Int, Int?, DownloadProblem)] = [
      (401, nil, .credentials), (404, nil, .absent), (410, nil, .absent), (429, 3, .later(seconds: 3)),
      (502, nil, .transport(.unreachable(status: 502))), (504, nil, .transport(.unreachable(status: 504))),
      (503, nil, .later(seconds: nil)), (500, nil, .serverFailed(status: 500)), (400, nil, .refused(status: 400)),
    ]
    for (status, retryAfter, problem) in ends {
      var plan = DownloadPlan(bytes: 3, tag: nil)
      #expect(plan.next(after: .refused(status: status, retryAfterSeconds: retryAfter, length: nil)) == .stop(problem))
    }
    var plan = DownloadPlan(bytes: 3, tag: nil)
    #expect(plan.next(after: .failed(.cancelled, bytes: 7)) == .stop(.transport(.cancelled)))
  }
}
