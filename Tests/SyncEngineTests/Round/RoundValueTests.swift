import HTTPClient
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// The steps of a round as a value: which requests and transactions follow from which events.
@Suite struct RoundValueTests {
  typealias Script = ScriptedRound.Script

  func driven(
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
