import Foundation
import TestSupport
import Testing
@testable import FileTransfers

/// The state machine of tus uploads, without a network.
@Suite struct TusPlanTests {
  private let tus = TusServer(["tus-extension": "creation,checksum", "tus-checksum-algorithm": "sha1,sha256"])

  private func begun(_ bytes: Int64 = 3 << 20) -> TusPlan {
    var plan = TusPlan(byteCount: bytes, address: nil, server: tus)
    _ = plan.next(after: .created(address: "a"))
    _ = plan.next(after: .remembered)
    return plan
  }

  @Test("The address is stored before the first byte is sent") func theAddressIsRememberedBeforeTheFirstByte() {
    var plan = TusPlan(byteCount: 10, address: nil)
    #expect(plan.first == .ask)
    #expect(plan.next(after: .asked(tus)) == .create)
    #expect(plan.next(after: .created(address: "a")) == .remember(address: "a"))
    #expect(plan.next(after: .remembered) == .send(address: "a", offset: 0, bytes: 10))
    #expect(plan.next(after: .sent(offset: 10, bytes: 10, seconds: 1)) == .done(address: "a"))
  }

  @Test("An upload that was started earlier is looked up first") func anUploadThatWasBegunIsLookedAtFirst() {
    var plan = TusPlan(byteCount: 10, address: "a", server: tus)
    #expect(plan.first == .look(address: "a"))
    #expect(plan.next(after: .found(offset: 7, length: 10)) == .send(address: "a", offset: 7, bytes: 3))
    var whole = TusPlan(byteCount: 10, address: "a", server: tus)
    #expect(whole.next(after: .found(offset: 10, length: nil)) == .done(address: "a"))
  }

  @Test(
    "An upload that the server has forgotten restarts",
    arguments: [(404, true), (410, true), (403, true), (404, false), (410, false)])
  func whatTheServerHasForgottenBeginsAnew(status: Int, isLooking: Bool) {
    var plan = isLooking ? TusPlan(byteCount: 3 << 20, address: "a", server: tus) : begun()
    #expect(plan.next(after: .refused(status: status, retryAfterSeconds: nil)) == .remember(address: nil))
    #expect(plan.next(after: .remembered) == .create)
    #expect(plan.next(after: .created(address: "b")) == .remember(address: "b"))
    #expect(plan.next(after: .remembered) == .send(address: "b", offset: 0, bytes: 1 << 20))
  }

  /// Bytes that were sent before are no progress. Otherwise the upload would repeat endlessly.
  @Test("An upload that the server repeatedly forgets stops with noProgress")
  func anUploadThatIsForgottenAgainAndAgainEnds() {
    var plan = begun(30 << 20)
    let gone = TusPlan.Event.refused(status: 404, retryAfterSeconds: nil)
    for number in 0...TusPlan.mostRepetitions {
      guard case .send(_, 0, let bytes) = plan.next(after: number == 0 ? .found(offset: 0, length: nil) : .remembered)
      else { return #expect(Bool(false), "it is not sent from its beginning") }
      guard case .send = plan.next(after: .sent(offset: min(bytes, 1 << 20), bytes: bytes, seconds: 1)) else {
        return #expect(Bool(false), "it does not go on")
      }
      guard number < TusPlan.mostRepetitions else { break }
      #expect(plan.next(after: gone) == .remember(address: nil))
      #expect(plan.next(after: .remembered) == .create)
      #expect(plan.next(after: .created(address: "b")) == .remember(address: "b"))
    }
    #expect(plan.next(after: gone) == .stop(.noProgress))
  }

  @Test("An upload of another length is not resumed") func somebodyElsesUploadIsNotGoneOnWith() {
    for event in [TusPlan.Event.found(offset: 3, length: 11), .found(offset: 11, length: nil)] {
      var plan = TusPlan(byteCount: 10, address: "a", server: tus)
      #expect(plan.next(after: event) == .remember(address: nil))
    }
  }

  @Test("A mismatch is looked up, and repeated mismatches without progress stop the upload", arguments: [409, 460])
  func aMismatchIsLookedAt(status: Int) {
    var plan = begun()
    let refusal = TusPlan.Event.refused(status: status, retryAfterSeconds: nil)
    for _ in 0..<TusPlan.mostRepetitions {
      #expect(plan.next(after: refusal) == .look(address: "a"))
      #expect(plan.next(after: .found(offset: 0, length: 3 << 20)) == .send(address: "a", offset: 0, bytes: 1 << 20))
    }
    #expect(plan.next(after: refusal) == .stop(.noProgress))
    var going = begun(30 << 20)
    for round in 1...20 {
      #expect(going.next(after: refusal) == .look(address: "a"))
      guard case .send = going.next(after: .found(offset: Int64(round), length: nil)) else {
        return #expect(Bool(false), "progress begins the count anew")
      }
    }
  }

  @Test("Refusals, a cancellation and size limits end the attempt with a specific problem") func whatEndsAnAttempt() {
    let ends: [(Int, Int?, UploadProblem)] = [
      (401, nil, .credentials), (412, nil, .refused(status: 412)), (423, nil, .later(seconds: 2)),
      (429, 7, .later(seconds: 7)), (503, nil, .later(seconds: nil)), (500, nil, .serverFailed(status: 500)),
      (507, nil, .later(seconds: 300)), (502, nil, .transport(.unreachable(status: 502))),
      (504, nil, .transport(.unreachable(status: 504))), (400, nil, .refused(status: 400)),
      (415, nil, .refused(status: 415)),
    ]
    for (status, retryAfter, problem) in ends {
      var plan = begun()
      #expect(plan.next(after: .refused(status: status, retryAfterSeconds: retryAfter)) == .stop(problem))
    }
    var plan = begun()
    #expect(plan.next(after: .failed(.cancelled)) == .stop(.transport(.cancelled)))
    #expect(plan.chunk.bytes == 512 << 10)
    var full = begun()
    let quota = TusPlan.Event.refused(status: 507, retryAfterSeconds: nil, type: "urn:fieldvault:quota-exceeded")
    #expect(full.next(after: quota) == .stop(.noRoom))
    var large = TusPlan(byteCount: 10, address: nil)
    #expect(large.next(after: .asked(TusServer(["tus-max-size": "9"]))) == .stop(.tooLarge))
  }

  /// Only the problem type `content-exists` means that the file has arrived. Another 409 does not.
  @Test("A content that the server already holds completes the upload") func aContentThatIsThereAlreadyIsDone() {
    let exists = TusPlan.Event.refused(status: 409, retryAfterSeconds: nil, type: "urn:fieldvault:content-exists")
    var creating = TusPlan(byteCount: 10, address: nil, server: tus)
    #expect(creating.next(after: exists) == .done(address: nil))
    // Meanwhile another device has sent the same content.
    var sending = begun()
    #expect(sending.next(after: exists) == .done(address: nil))
    var other = TusPlan(byteCount: 10, address: nil, server: tus)
    #expect(other.next(after: .refused(status: 409, retryAfterSeconds: nil)) == .stop(.refused(status: 409)))
  }

  @Test("A proxy that rejects a request as too large receives smaller requests from then on")
  func aProxyThatTakesLessGetsLess() {
    var plan = begun()
    var bytes: Int64 = 1 << 20
    let refusal = TusPlan.Event.refused(status: 413, retryAfterSeconds: nil)
    // Down to the smallest size, which is more steps than a part may be repeated.
    for _ in 0..<4 {
      _ = plan.next(after: refusal)
      bytes /= 2
      #expect(plan.next(after: .found(offset: 0, length: nil)) == .send(address: "a", offset: 0, bytes: bytes))
    }
    // The size never exceeds this limit again.
    _ = plan.next(after: .sent(offset: bytes, bytes: bytes, seconds: 0.01))
    #expect(plan.chunk.bytes == bytes)
  }

  @Test("The chunk size follows the speed of the link") func theChunkFollowsTheLink() {
    var chunk = ChunkSize()
    for _ in 0..<10 { chunk.succeeded(bytes: chunk.bytes, seconds: 0.001) }
    #expect(chunk.bytes == ChunkSize.most)
    for _ in 0..<20 { chunk.succeeded(bytes: chunk.bytes, seconds: Double(chunk.bytes) / 20_000) }
    #expect((150_000...170_000).contains(chunk.bytes))
    for _ in 0..<10 { chunk.failed() }
    #expect(chunk.bytes == ChunkSize.least)
    chunk.succeeded(bytes: 10, seconds: 0.001)
    #expect(chunk.bytes == ChunkSize.least)
  }

  @Test("A file of unknown length ends with a shorter request") func aFileOfUnknownLengthEndsWithAShorterRequest() {
    var plan = TusPlan(byteCount: nil, address: nil, server: tus)
    _ = plan.next(after: .created(address: "a"))
    #expect(plan.next(after: .remembered) == .send(address: "a", offset: 0, bytes: 1 << 20))
    guard case .send(_, 1_048_576, let bytes) = plan.next(after: .sent(offset: 1 << 20, bytes: 1 << 20, seconds: 1))
    else {
      return #expect(Bool(false))
    }
    #expect(bytes > 0)
    #expect(plan.next(after: .sent(offset: 1 << 20, bytes: 0, seconds: 1)) == .done(address: "a"))
  }

  /// Random behavior of a server within the protocol. Every upload ends, and the server then holds the complete
  /// file.
  @Test("Every upload ends with the complete file or a problem") func everyUploadEndsWithTheWholeFileOrAProblem() {
    let seed = UInt64.random(in: 0..<1 << 48)
    print("everyUploadEndsWithTheWholeFileOrAProblem: seed \(seed)")
    var random = Seeded(seed)
    for round in 0..<2_000 {
      let byteCount = Int64.random(in: 0...6 << 20, using: &random)
      var (stored, exists, finished) = (Int64(0), false, false)
      var address: String?
      for attempt in 0..<60 where !finished {
        var plan = TusPlan(byteCount: byteCount, address: address, server: attempt == 0 ? nil : tus)
        var step = plan.first
        for count in 0..<2_000 {
          #expect(count < 1_999, "seed \(seed), round \(round) never ends")
          let luck = Int.random(in: 0..<20, using: &random)
          switch step {
          case .done(let place):
            #expect(place == nil || stored == byteCount && exists, "seed \(seed), round \(round)")
            finished = true
          case .stop: break
          case .remember(let new):
            address = new
            step = plan.next(after: .remembered)
            continue
          case .ask: step = plan.next(after: luck == 0 ? .failed(.timedOut(seconds: 1)) : .asked(tus)); continue
          case .create:
            (stored, exists) = (0, true)
            step = plan.next(after: luck == 0 ? .failed(.timedOut(seconds: 1)) : .created(address: "a\(count)"))
            continue
          case .look:
            if luck == 0 { exists = false }
            step = plan.next(
              after: exists ? .found(offset: stored, length: byteCount) : .refused(status: 404, retryAfterSeconds: nil))
            continue
          case .send(_, let offset, let bytes):
            let next: TusPlan.Event
            if !exists {
              next = .refused(status: 410, retryAfterSeconds: nil)
            } else if offset != stored {
              next = .refused(status: 409, retryAfterSeconds: nil)
            } else if luck == 0 {
              stored += Int64.random(in: 0...bytes, using: &random)
              next = .failed(.noConnection(detail: "cut"))
            } else if luck == 1 {
              next = .refused(status: 460, retryAfterSeconds: nil)
            } else {
              stored += bytes
              next = .sent(offset: stored, bytes: bytes, seconds: 0.5)
            }
            step = plan.next(after: next)
            continue
          }
          break
        }
      }
      #expect(finished, "seed \(seed), round \(round)")
    }
  }
}
