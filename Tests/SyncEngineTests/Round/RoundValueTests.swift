import HTTPClient
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// The steps of a round as a value: which requests and transactions follow from which events.
@Suite struct RoundValueTests {
  typealias Script = ScriptedRound.Script

  private func driven(
    _ request: RoundRequest = RoundRequest(), capabilities: RemoteCapabilities = RemoteCapabilities(),
    _ change: (inout Script) -> Void = { _ in }
  ) -> ScriptedRound {
    var script = Script()
    change(&script)
    var round = ScriptedRound(request, capabilities: capabilities, script: script)
    let hasEnded = round.drive()
    #expect(hasEnded)
    #expect(round.inFlight.isEmpty)
    return round
  }

  // MARK: The order of effects

  @Test("A round without changes identifies, pulls, looks for parents, chooses no batch and ends")
  func emptyRound() {
    let round = driven()
    #expect(round.requests == [.account, .changes(cursor: "here", limit: 500, projects: [])])
    #expect(
      round.steps
        == [.identify, .pull(limit: 500), .fetchParents, .push(limit: 25, byAge: false), .finish(.done)])
    #expect(round.log.last == .end)
    #expect(round.round.report.outcome == .done)
    guard case .endRun(1, let result, absentFiles: 1000)? = round.commands.last else {
      return #expect(Bool(false), "the last transaction is \(String(describing: round.commands.last))")
    }
    #expect(result.outcome == "done")
  }

  @Test("The traffic of the round is stored with its results")
  func traffic() {
    let round = driven { script in
      script.respond = { request in
        let traffic = TransferCounts(bytesSent: 7, bytesReceived: 9)
        return .responded(
          ScriptedRound.response(to: request), RequestFacts(sentAt: 0, receivedAt: 0, traffic: traffic))
      }
    }
    #expect(round.round.report.bytesSent == 7 && round.round.report.bytesReceived == 9)
  }

  @Test("Tidying continues while there is more, at most 40 times")
  func tidying() {
    let round = driven { script in
      script.store = { command in
        switch command {
        case .endRun: .stored(.ended(nextDue: 5, isUntidy: true))
        case .tidy: .stored(.more(true))
        default: nil
        }
      }
    }
    #expect(round.commands.count { $0 == .tidy } == 40)
    #expect(round.round.nextDue == 5)
  }

  // MARK: Identifying

  @Test("A server with another version of the protocol pauses the round before anything is stored")
  func otherProtocol() {
    let round = driven { script in
      script.respond = { _ in
        .responded(
          .account(
            AccountInfo(
              protocolVersion: 99, serverUuid: "s", epoch: "one", account: "a", user: "u", serverTime: 0, schemas: [])),
          ScriptedRound.facts)
      }
    }
    #expect(round.round.report.outcome == .paused && round.round.report.failure?.responseClass == .otherProtocol)
    #expect(!round.commands.contains { if case .identify = $0 { true } else { false } })
  }

  @Test("The active projects are followed, and the server is identified again", arguments: [true, false])
  func activeProjects(isChanged: Bool) {
    let buckets = BucketDigests(epoch: "one", buckets: ["00": DigestSummary(count: 1, digest: "d")])
    let (column, value) = SyncTransaction.activeStatus
    var active = ScriptedRound.record("house", of: SyncTransaction.scopeEntity)
    active.state.fields[column] = value
    let project = active
    let round = driven { script in
      script.store = { command in
        guard case .read(.activeProjects) = command else { return nil }
        return .stored(.activeProjects(mark: isChanged ? "" : buckets.wire.digest))
      }
      script.respond = { request in
        switch request {
        case .bucketDigests: .responded(.bucketDigests(buckets), ScriptedRound.facts)
        case .recordDigests:
          .responded(
            .recordDigests(
              RecordDigests(epoch: "one", records: [RecordDigest(entityUuid: "house", version: 1, digest: "d")])),
            ScriptedRound.facts)
        case .records:
          .responded(
            .records(RecordsResponse(serverTime: 0, epoch: "one", changes: [project], missing: [])), ScriptedRound.facts
          )
        default: nil
        }
      }
    }
    let follows = round.commands.filter { if case .follow = $0 { true } else { false } }
    #expect(follows == (isChanged ? [.follow(active: ["house"], mark: buckets.wire.digest)] : []))
    #expect(round.commands.count { if case .identify = $0 { true } else { false } } == (isChanged ? 2 : 1))
    #expect(round.round.report.outcome == .done)
  }

  @Test("The inbox is tried again in short transactions, with the versions that arrive in between")
  func admittingAgain() {
    let round = driven { script in
      var left = 3
      script.store = { command in
        switch command {
        case .identify:
          var identity = ServerIdentity()
          identity.hasKept = true
          return .stored(.identity(identity))
        case .admitAgain(let place, _):
          left -= 1
          return .stored(
            .admittedAgain(ApplyCounts(), arrived: left == 1 ? ["a"] : [], next: place, hasMore: left > 0))
        default: return nil
        }
      }
    }
    #expect(round.commands.count { if case .admitAgain = $0 { true } else { false } } == 3)
    #expect(round.commands.contains(.admit(["a"])))
  }

  // MARK: Pulling

  @Test("Pages follow each other until the last one")
  func paging() {
    let round = driven { script in
      var pages = 0
      script.respond = { request in
        guard case .changes = request else { return nil }
        pages += 1
        let page = ScriptedRound.page(
          [ScriptedRound.record("\(pages)")], cursor: "c\(pages)", hasMore: pages < 3)
        return .responded(.changes(page), ScriptedRound.facts)
      }
    }
    #expect(round.commands.count { if case .applyPage = $0 { true } else { false } } == 3)
    #expect(round.log.contains(.tell(.pulled(count: 1, remaining: nil))))
  }

  @Test("Missing parents are fetched and applied before the page, the farthest first")
  func missingParents() {
    let round = driven { script in
      script.respond = { request in
        switch request {
        case .changes:
          .responded(.changes(ScriptedRound.page([ScriptedRound.record("note")])), ScriptedRound.facts)
        case .records(let type, let uuids, _):
          .responded(
            .records(
              RecordsResponse(
                serverTime: 0, epoch: "one", changes: uuids.map { ScriptedRound.record($0, of: type) }, missing: [])),
            ScriptedRound.facts)
        default: nil
        }
      }
      script.store = { command in
        guard case .read(.missingParents(let records, _)) = command else { return nil }
        let parents =
          switch records.first?.entityUuid {
          case "note": [RecordIdentity(entityType: "Room", entityUuid: "room")]
          case "room": [RecordIdentity(entityType: "Project", entityUuid: "house")]
          default: [RecordIdentity]()
          }
        return .stored(.parents(parents))
      }
    }
    let applied = round.commands.compactMap { command -> String? in
      switch command {
      case .apply(let records): records.first?.entityUuid
      case .applyPage: "page"
      default: nil
      }
    }
    #expect(applied == ["house", "room", "page"])
  }

  @Test("A server that announces more at the same cursor, or sends empty pages without end, is not the server")
  func endlessPages() {
    let same = driven { script in
      script.respond = { request in
        guard case .changes = request else { return nil }
        return .responded(.changes(ScriptedRound.page(cursor: "here", hasMore: true)), ScriptedRound.facts)
      }
    }
    #expect(same.round.report.outcome == .offline)
    let empty = driven { script in
      var pages = 0
      script.respond = { request in
        guard case .changes = request else { return nil }
        pages += 1
        return .responded(.changes(ScriptedRound.page(cursor: "\(pages)", hasMore: true)), ScriptedRound.facts)
      }
    }
    #expect(empty.round.report.outcome == .offline)
    #expect(empty.requests.count { if case .changes = $0 { true } else { false } } == Round.longestRepetition + 1)
  }

  @Test("Records that the inbox waits for are requested once, also when they stay missing")
  func inboxParents() {
    let round = driven { script in
      script.store = { command in
        guard case .read(.parentsOfInbox(let last, _)) = command else { return nil }
        return .stored(.parents(last.isEmpty ? [RecordIdentity(entityType: "Room", entityUuid: "r")] : []))
      }
    }
    #expect(round.requests.contains(.records(entityType: "Room", uuids: ["r"], epoch: nil)))
    #expect(round.requests.count { if case .records = $0 { true } else { false } } == 1)
    #expect(round.round.report.outcome == .done)
  }

  // MARK: Comparing

  /// A device with 100 records that the server does not have.
  private func lostRecords(_ script: inout Script, deletable: Int, accepted: Int = 0, isNewEpoch: Bool = false) {
    let records = (0..<100).map { RecordDigest(entityUuid: "r\($0)", version: 1, digest: "d") }
    let summary = DigestSummary(count: 100, digest: "all")
    script.store = { command in
      switch command {
      case .identify:
        var identity = ServerIdentity()
        identity.mustReconcile = true
        return .stored(.identity(identity))
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
        case .identify:
          var identity = ServerIdentity()
          identity.mustReconcile = true
          return .stored(.identity(identity))
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

  // MARK: Fetching

  @Test("A round that only fetches returns the records with their parents and stores nothing")
  func fetching() {
    var script = Script()
    script.respond = { request in
      guard case .records(let type, let uuids, _) = request else { return nil }
      let records = uuids.map { ScriptedRound.record($0, of: type) }
      return .responded(
        .records(RecordsResponse(serverTime: 0, epoch: "one", changes: records, missing: [])), ScriptedRound.facts)
    }
    script.store = { command in
      guard case .read(.missingParents(let records, withDeleted: true)) = command else { return nil }
      let isRoom = records.first?.entityType == "Room"
      return .stored(.parents(isRoom ? [RecordIdentity(entityType: "Project", entityUuid: "house")] : []))
    }
    var round = ScriptedRound(fetching: ["room"], script: script)
    let hasEnded = round.drive()
    #expect(hasEnded)
    #expect(round.round.fetched?.records.map(\.entityUuid) == ["room"])
    #expect(round.round.fetched?.parents.map { $0.map(\.entityUuid) } == [["house"]])
    let writes = round.commands.filter { if case .read = $0 { false } else { true } }
    #expect(writes.allSatisfy { if case .requireHistory = $0 { true } else { false } })
  }
}
