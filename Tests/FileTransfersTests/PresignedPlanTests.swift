import Testing
import HTTPClient
@testable import FileTransfers

/// The state machine of uploads to presigned URLs, without a network.
@Suite struct PresignedPlanTests {
  private let one = PresignedAddress(url: "https://s3.example.org/a?1", headers: [:], key: "a")
  private let two = PresignedAddress(url: "https://s3.example.org/b?2", headers: [:], key: "b")
  private let cut = TransportFailure.noConnection(detail: "the connection was lost")

  private func sending(confirms: Bool = true) -> PresignedPlan {
    var plan = PresignedPlan(key: nil, confirms: confirms)
    if case .remember = plan.next(after: .given(one)) { _ = plan.next(after: .remembered) }
    return plan
  }

  @Test("The key is stored before the first byte is sent") func theNameIsRememberedBeforeTheFirstByte() {
    var plan = PresignedPlan(key: nil, confirms: true)
    #expect(plan.first == .ask)
    #expect(plan.next(after: .given(one)) == .remember(key: "a"))
    #expect(plan.next(after: .remembered) == .put(one))
    #expect(plan.next(after: .stored) == .confirm(key: "a"))
    #expect(plan.next(after: .confirmed) == .done(key: "a"))
  }

  @Test("Without server confirmation, the response of the store completes the upload")
  func withoutAConfirmationTheStoresWordIsEnough() {
    var plan = PresignedPlan(key: "old", confirms: false)
    #expect(plan.first == .ask)
    #expect(plan.next(after: .given(one)) == .put(one))
    #expect(plan.next(after: .stored) == .done(key: "a"))
  }

  @Test("A file that already exists completes the upload") func aFileThatIsThereIsDone() {
    var plan = PresignedPlan(key: nil, confirms: true)
    #expect(plan.next(after: .exists) == .done(key: nil))
    var confirming = sending()
    _ = confirming.next(after: .stored)
    #expect(confirming.next(after: .exists) == .done(key: nil))
  }

  /// The process was killed between the upload and the confirmation, or the confirmation was lost.
  @Test("An upload that was started earlier is confirmed first") func whatWasBegunIsAskedForFirst() {
    var plan = PresignedPlan(key: "a", confirms: true)
    #expect(plan.first == .confirm(key: "a"))
    #expect(plan.next(after: .confirmed) == .done(key: "a"))
    var gone = PresignedPlan(key: "a", confirms: true)
    #expect(gone.next(after: .absent) == .ask)
    // The server may return the same key. Then the device has no new key to store.
    #expect(gone.next(after: .given(one)) == .put(one))
    var other = PresignedPlan(key: "a", confirms: true)
    _ = other.next(after: .absent)
    #expect(other.next(after: .given(two)) == .remember(key: "b"))
  }

  @Test("An upload whose response is lost is confirmed before it is repeated") func lostResponseIsConfirmedFirst() {
    var plan = sending()
    #expect(plan.next(after: .failed(cut)) == .confirm(key: "a"))
    #expect(plan.next(after: .confirmed) == .done(key: "a"))
  }

  @Test("An interrupted upload restarts a limited number of times") func whatIsCutBeginsAnewAFewTimes() {
    var plan = sending()
    for _ in 0..<PresignedPlan.mostRepetitions {
      #expect(plan.next(after: .failed(cut)) == .confirm(key: "a"))
      #expect(plan.next(after: .absent) == .put(one))
    }
    #expect(plan.next(after: .failed(cut)) == .confirm(key: "a"))
    #expect(plan.next(after: .absent) == .stop(.storeNotReached(cut)))
    var silent = sending(confirms: false)
    for _ in 0..<PresignedPlan.mostRepetitions { #expect(silent.next(after: .failed(cut)) == .put(one)) }
    #expect(silent.next(after: .failed(cut)) == .stop(.storeNotReached(cut)))
  }

  /// If the server cannot be reached either, the device has no connection and the store is not at fault.
  @Test("Without a connection to the server, the upload stops") func withoutAConnectionItStops() {
    var plan = sending()
    _ = plan.next(after: .failed(cut))
    #expect(plan.next(after: .failed(cut)) == .stop(.transport(cut)))
    var asking = PresignedPlan(key: nil, confirms: true)
    #expect(asking.next(after: .failed(cut)) == .stop(.transport(cut)))
    var cancelled = sending()
    #expect(cancelled.next(after: .failed(.cancelled)) == .stop(.transport(.cancelled)))
  }

  @Test("An expired URL is replaced a limited number of times", arguments: [403, 400])
  func anAddressThatHasExpiredIsAskedForAnewAFewTimes(status: Int) {
    var plan = sending()
    let refusal = PresignedPlan.Event.storeRefused(status: status, retryAfterSeconds: nil, code: "AccessDenied")
    for round in 0..<PresignedPlan.mostRepetitions {
      #expect(plan.next(after: refusal) == .ask)
      let next = plan.next(after: .given(round == 0 ? two : one))
      guard case .remember = next else { return #expect(Bool(false), "\(next)") }
      _ = plan.next(after: .remembered)
      // The server returns the second address again, so that each replacement has another key.
      if round == 0 { continue }
      _ = plan.next(after: .given(two))
      _ = plan.next(after: .remembered)
    }
    #expect(plan.next(after: refusal) == .stop(.storeRefused(status: status, code: "AccessDenied")))
  }

  @Test("An upload that the server repeatedly does not confirm stops with noProgress")
  func whatIsThereAndNotWhatWasSentEndsSomeTime() {
    var plan = sending()
    for _ in 0..<PresignedPlan.mostRepetitions {
      #expect(plan.next(after: .stored) == .confirm(key: "a"))
      #expect(plan.next(after: .absent) == .ask)
      #expect(plan.next(after: .given(one)) == .put(one))
    }
    _ = plan.next(after: .stored)
    #expect(plan.next(after: .absent) == .stop(.noProgress))
  }

  @Test("Each refusal of the server maps to a specific upload problem") func whatTheServerRefuses() {
    let ends: [(Int, Int?, String?, UploadProblem)] = [
      (401, nil, nil, .credentials), (403, nil, nil, .credentials), (413, nil, nil, .tooLarge),
      (415, nil, "no pictures", .notTaken("no pictures")), (422, nil, nil, .notTaken("status 422")),
      (429, 7, nil, .later(seconds: 7)), (503, 30, nil, .later(seconds: 30)), (507, nil, nil, .later(seconds: 300)),
      (500, nil, nil, .serverFailed(status: 500)), (408, nil, nil, .serverFailed(status: 408)),
      (502, nil, nil, .transport(.unreachable(status: 502))), (404, nil, nil, .refused(status: 404)),
      (200, nil, "no such category", .notTaken("no such category")),
    ]
    for (status, retryAfter, what, problem) in ends {
      var plan = PresignedPlan(key: nil, confirms: true)
      let event = PresignedPlan.Event.refused(status: status, retryAfterSeconds: retryAfter, what: what)
      #expect(plan.next(after: event) == .stop(problem), "\(status)")
    }
    var full = PresignedPlan(key: nil, confirms: true)
    let quota = PresignedPlan.Event.refused(
      status: 507, retryAfterSeconds: nil, type: "urn:fieldvault:quota-exceeded")
    #expect(full.next(after: quota) == .stop(.noRoom))
  }

  @Test("Each refusal of the store maps to a specific upload problem") func whatTheStoreRefuses() {
    let ends: [(Int, String?, UploadProblem)] = [
      (413, nil, .tooLarge), (400, "EntityTooLarge", .tooLarge), (415, nil, .notTaken("its type")),
      (503, "SlowDown", .later(seconds: 9)), (429, nil, .later(seconds: 9)), (500, nil, .serverFailed(status: 500)),
      (502, nil, .serverFailed(status: 502)), (400, "RequestTimeout", .serverFailed(status: 400)),
    ]
    for (status, code, problem) in ends {
      var plan = sending()
      let event = PresignedPlan.Event.storeRefused(status: status, retryAfterSeconds: 9, code: code)
      #expect(plan.next(after: event) == .stop(problem), "\(status)")
    }
  }
}
