import HTTPClient
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// The steps of a comparison.
extension RoundValueTests {
  /// The identity of a server with which the device has to compare.
  private static let mustReconcile: RoundEvent = {
    var identity = ServerIdentity()
    identity.mustReconcile = true
    return .stored(.identity(identity))
  }()

  /// A device with 100 records that the server does not have.
  private func lostRecords(_ script: inout Script, deletable: Int, accepted: Int = 0, isNewEpoch: Bool = false) {
    let records = (0..<100).map { RecordDigest(entityUuid: "r\($0)", version: 1, digest: "d") }
    let summary = DigestSummary(count: 100, digest: "all")
    script.store = { command in
      switch command {
      case .identify: return Self.mustReconcile
      case .beginComparison where isNewEpoch: return .stored(.comparison(scopes: [], epoch: "zero", cursor: "here"))
      case .read(.digests(let query)) where query.entityType == "Room":
        return .stored(.digests(whole: summary, buckets: ["00": summary]))
      case .read(.recordDigests(let query, _, _)) where query.entityType == "Room":
        return .stored(.recordDigests(records, plain: []))
      case .acceptedDeletions: return .stored(.count(accepted))
      case .countDeletable(_, let uuids): return .stored(.count(min(deletable, uuids.count)))
      default: return nil
      }
    }
  }

  @Test(
    "A comparison asks once for the records of many buckets, and for each bucket at an older server",
    arguments: [1, 64])
  func requestsForBuckets(limit: Int) {
    let names = (10..<40).map { "\($0)" }
    let round = driven { script in
      script.store = { command in
        switch command {
        case .identify: return Self.mustReconcile
        case .read(.digests(let query)) where query.entityType == "Room":
          let ours = names.map { ($0, DigestSummary(count: 1, digest: "ours")) }
          return .stored(
            .digests(
              whole: DigestSummary(count: 30, digest: "ours"), buckets: Dictionary(ours) { first, _ in first }))
        case .read(.recordDigests(let query, let buckets, _)) where query.entityType == "Room":
          let records = buckets.sorted().map { RecordDigest(entityUuid: "r\($0)", version: 1, digest: "ours") }
          return .stored(.recordDigests(records, plain: []))
        default: return nil
        }
      }
      script.respond = { request in
        switch request {
        case .entityDigests:
          return .responded(
            .entityDigests(
              EntityDigests(
                serverTime: 0, epoch: "one", cursor: "there",
                entities: ["Room": DigestSummary(count: 30, digest: "theirs")])), ScriptedRound.facts)
        case .bucketDigests:
          let theirs = names.map { ($0, DigestSummary(count: 1, digest: "theirs")) }
          return .responded(
            .bucketDigests(
              BucketDigests(
                epoch: "one", buckets: Dictionary(theirs) { first, _ in first }, bucketLimit: limit)),
            ScriptedRound.facts)
        case .recordDigests(_, let buckets, _):
          let records = buckets.map { RecordDigest(entityUuid: "r\($0)", version: 2, digest: "theirs") }
          return .responded(.recordDigests(RecordDigests(epoch: "one", records: records)), ScriptedRound.facts)
        default: return nil
        }
      }
    }
    let requests = round.requests.compactMap { request -> [String]? in
      if case .recordDigests(_, let buckets, _) = request { buckets } else { nil }
    }
    // The deletions are counted first.
    #expect(Set(requests) == Set(limit == 1 ? names.map { [$0] } : [names]))
    #expect(requests.count == (limit == 1 ? 60 : 2))
    let fetched = round.requests.compactMap { request -> [String]? in
      if case .records(_, let uuids, _) = request { uuids } else { nil }
    }
    #expect(fetched == [names.map { "r\($0)" }])
    #expect(round.round.report.outcome == .done)
  }

  @Test("A comparison that would delete many records ends the round before it changes anything")
  func heldDeletions() {
    let round = driven { lostRecords(&$0, deletable: 100) }
    #expect(round.round.report.outcome == .paused)
    #expect(round.round.report.heldDeletions?.deletions == 100)
    #expect(round.commands.contains(.holdDeletions(100)))
    #expect(!round.commands.contains { if case .repair = $0 { true } else { false } })
  }

  @Test("A comparison continues when the deletions are few or accepted")
  func acceptedDeletions() {
    for round in [
      driven { lostRecords(&$0, deletable: 3) }, driven { lostRecords(&$0, deletable: 100, accepted: 100) },
    ] {
      #expect(round.round.report.outcome == .done && round.round.report.hasCompared)
      #expect(round.commands.contains { if case .repair("Room", _, isNewEpoch: false) = $0 { true } else { false } })
      #expect(round.commands.contains(.endComparison(epoch: "one", cursor: nil)))
    }
  }

  @Test("A comparison looks up inbox versions that the server does not list, and drops those that it lacks")
  func unlistedInbox() {
    let round = driven { script in
      lostRecords(&script, deletable: 3)
      let others = script.store
      script.store = { command in
        guard case .read(.recordsOfInbox("Room", let last, _)) = command else { return others(command) }
        return .stored(.uuids(last.isEmpty ? ["kept", "lost"] : []))
      }
      script.respond = { request in
        guard case .records("Room", ["kept", "lost"], _) = request else { return nil }
        let response = RecordsResponse(
          serverTime: 0, epoch: "one", changes: [ScriptedRound.record("kept")], missing: ["lost"])
        return .responded(.records(response), ScriptedRound.facts)
      }
    }
    let lost = RecordsResponse(serverTime: 0, epoch: "one", changes: [], missing: ["lost"])
    #expect(round.commands.contains(.repair("Room", lost, isNewEpoch: false)))
    #expect(round.round.report.hasCompared)
  }

  @Test("In a new epoch, records that the server lacks are sent again, and the cursor is the server's")
  func newEpoch() {
    let round = driven { lostRecords(&$0, deletable: 100, isNewEpoch: true) }
    #expect(round.commands.contains(.emptyInbox(limit: 2_000, isNewEpoch: true)))
    #expect(round.commands.contains { if case .repair("Room", _, isNewEpoch: true) = $0 { true } else { false } })
    #expect(round.commands.contains(.reopenSealed(limit: 500)))
    #expect(round.commands.contains(.endComparison(epoch: "one", cursor: "there")))
    #expect(round.requests.contains { if case .records("Room", _, epoch: "zero") = $0 { true } else { false } })
  }

  // Found by the simulation, seed 5618: the version of the old epoch stayed, and later versions were ignored.
  @Test("In a new epoch, a record that is equal but for fields without a column gets the server's version")
  func versionWithExtraFields() {
    let bucket = ["00": DigestSummary(count: 1, digest: "plain")]
    let round = driven { script in
      lostRecords(&script, deletable: 0, isNewEpoch: true)
      let others = script.store
      script.store = { command in
        guard case .read(.recordDigests(let query, _, _)) = command, query.entityType == "Room" else {
          return others(command)
        }
        return .stored(
          .recordDigests(
            [RecordDigest(entityUuid: "r", version: 2, digest: "extra")],
            plain: [RecordDigest(entityUuid: "r", version: 2, digest: "plain")]))
      }
      script.respond = { request in
        switch request {
        case .entityDigests:
          .responded(
            .entityDigests(
              EntityDigests(serverTime: 0, epoch: "one", cursor: "there", entities: ["Room": bucket["00"]!])),
            ScriptedRound.facts)
        case .bucketDigests:
          .responded(.bucketDigests(BucketDigests(epoch: "one", buckets: bucket)), ScriptedRound.facts)
        case .recordDigests:
          .responded(
            .recordDigests(
              RecordDigests(epoch: "one", records: [RecordDigest(entityUuid: "r", version: 1, digest: "plain")])),
            ScriptedRound.facts)
        default: nil
        }
      }
    }
    #expect(round.commands.contains(.forgetExtraFields("Room", ["r"])))
    let records = [RecordDigest(entityUuid: "r", version: 1, digest: "plain")]
    #expect(round.commands.contains(.align("Room", records)))
  }
}
