import HTTPClient
import RecordStore
import SyncModel
import Testing

@testable import Outbox
@testable import VaultStore
@testable import SyncEngine

/// The removal of the records of projects that leave the device, within a round.
@Suite struct RoundLeavingTests {
  private typealias Script = ScriptedRound.Script

  /// A device from which 250 records leave, the last of them only in a second pass.
  private final class Device {
    var left = (0..<250).map { LocalIdentity("Room", Int64($0)) }
    var kept: [KeptRecords] = []
    var passes = 0

    func store(_ command: StoreCommand) -> RoundEvent? {
      switch command {
      case .read(.leaving):
        passes += 1
        var plan = LeavingPlan()
        (plan.records, plan.kept, plan.lastOperation) = (left, kept, 7)
        if passes == 1 { plan.versions = [RecordIdentity(entityType: "Room", entityUuid: "v")] }
        return .stored(.leaving(plan))
      case .leave(let records, _, _):
        let leaving = records.filter { $0.key != 0 || passes > 1 }
        left.removeAll { leaving.contains($0) }
        return .stored(.left(leaving.count))
      default: return nil
      }
    }
  }

  private static func announcing(_ projects: [String]) -> (RemoteRequest) -> RoundEvent? {
    { request in
      guard case .changes(let cursor, _, _) = request else { return nil }
      var page = ScriptedRound.page(cursor: cursor == "here" ? "next" : "there", hasMore: cursor == "here")
      page.changes = [ScriptedRound.record("note")]
      if cursor == "here" { page.removedProjects = projects }
      return .responded(.changes(page), ScriptedRound.facts)
    }
  }

  private static func isLeaving(_ command: StoreCommand) -> Bool {
    switch command {
    case .read(.leaving), .leave, .endLeaving, .forgetVersions: true
    default: false
    }
  }

  @Test(
    "Announced projects leave after the last page, in parts of at most 100 records and in passes until none is removed")
  func parts() throws {
    let device = Device()
    device.kept = [KeptRecords(entityType: "Room", reason: .unsentChange, count: 2)]
    var script = Script()
    script.respond = Self.announcing(["house"])
    script.store = device.store
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    let commands = round.commands
    let pages = commands.indices.filter { if case .applyPage = commands[$0] { true } else { false } }
    let first = try #require(commands.firstIndex(where: Self.isLeaving))
    #expect(pages.count == 2 && pages.allSatisfy { $0 < first })
    let parts = commands.compactMap { command -> Int? in
      guard case .leave(let records, .lost, since: 7) = command else { return nil }
      return records.count
    }
    #expect(parts == [100, 100, 50, 1])
    let versions = try #require(
      commands.firstIndex(of: .forgetVersions([RecordIdentity(entityType: "Room", entityUuid: "v")])))
    #expect(versions == first + 1)
    #expect(commands.contains(.endLeaving(.lost, isDone: false)))
    #expect(round.round.report.lost.removed == 250 && round.round.report.lost.kept == device.kept)
    #expect(round.round.report.left == 0 && round.round.report.hasDone && round.round.report.outcome == .done)
  }

  @Test("Records that remain after a pass that removed none are reported as referenced")
  func referenced() {
    var script = Script()
    script.respond = Self.announcing(["house"])
    script.store = { command in
      switch command {
      case .read(.leaving):
        var plan = LeavingPlan()
        plan.records = [LocalIdentity("Room", 1), LocalIdentity("Project", 1), LocalIdentity("Room", 2)]
        return .stored(.leaving(plan))
      case .leave: return .stored(.left(0))
      default: return nil
      }
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    #expect(
      round.round.report.lost.kept == [
        KeptRecords(entityType: "Project", reason: .referenced, count: 1),
        KeptRecords(entityType: "Room", reason: .referenced, count: 2),
      ])
    #expect(round.commands.contains(.endLeaving(.lost, isDone: true)))
  }

  @Test("A round without an announcement removes no record, and one after a crash continues", arguments: [false, true])
  func crash(hasLost: Bool) {
    let device = Device()
    var script = Script()
    script.store = { command in
      if case .read(.pullPosition) = command {
        return .stored(.position(cursor: "here", scopes: [], hasLost: hasLost))
      }
      return device.store(command)
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    #expect(round.commands.contains(where: Self.isLeaving) == hasLost)
    #expect(round.round.report.lost.removed == (hasLost ? 250 : 0))
  }

  @Test("A pull that ends early removes no record")
  func interrupted() {
    var script = Script()
    script.respond = { request in
      if case .changes("next", _, _) = request {
        return .requestFailed(RemoteFailure(.unreachable, message: "", hint: ""), ScriptedRound.facts)
      }
      return Self.announcing(["house"])(request)
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    #expect(round.round.report.outcome == .offline && !round.commands.contains(where: Self.isLeaving))
  }

  @Test("A cancelled round stops between two parts")
  func cancelled() {
    let device = Device()
    var script = Script()
    script.respond = Self.announcing(["house"])
    script.store = device.store
    var round = ScriptedRound(script: script)
    while !round.commands.contains(where: { if case .leave = $0 { true } else { false } }) { round.drive(1) }
    round.handle(.cancelled)
    round.drive()
    #expect(round.round.isEnded)
    let parts = round.commands.filter { if case .leave = $0 { true } else { false } }
    #expect(parts.count == 1 && device.left.count == 151 && round.round.report.outcome == .cancelled)
    #expect(!round.commands.contains(.endLeaving(.lost, isDone: true)))
  }

  @Test("A comparison leaves lost projects before it counts and compares, and leaves them out of the digests")
  func comparison() throws {
    let device = Device()
    var script = Script()
    script.respond = { request in
      guard case .entityDigests = request else { return nil }
      return .responded(
        .entityDigests(
          EntityDigests(serverTime: 0, epoch: "one", cursor: "there", entities: [:], memberProjects: ["barn"])),
        ScriptedRound.facts)
    }
    script.store = { command in
      switch command {
      case .identify:
        var identity = ServerIdentity()
        identity.mustReconcile = true
        return .stored(.identity(identity))
      case .noteMemberProjects: return .stored(.lostProjects(["house"]))
      default: return device.store(command)
      }
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    let commands = round.commands
    let end = try #require(commands.firstIndex(of: .endLeaving(.lost, isDone: true)))
    let queries = commands.enumerated().compactMap { index, command -> (index: Int, query: DigestQuery)? in
      if case .read(.digests(let query)) = command { (index, query) } else { nil }
    }
    #expect(queries.count == 4)
    #expect(queries.allSatisfy { $0.index > end && $0.query.excluded == ["house"] })
    #expect(commands.contains(.noteMemberProjects(["barn"], isNewEpoch: false)))
    #expect(round.round.report.lost.removed == 250 && round.round.report.repaired == 0)
  }

  @Test(
    "A comparison with a server that shows all projects asks for lost projects only if there are some",
    arguments: [false, true])
  func unlimited(hasLost: Bool) {
    var script = Script()
    script.store = { command in
      switch command {
      case .identify:
        var identity = ServerIdentity()
        identity.mustReconcile = true
        return .stored(.identity(identity))
      case .beginComparison: return .stored(.comparison(scopes: [], epoch: "one", cursor: "here", hasLost: hasLost))
      default: return nil
      }
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    #expect(round.commands.contains(.noteMemberProjects(nil, isNewEpoch: false)) == hasLost)
    #expect(round.round.report.outcome == .done)
  }

  @Test("Projects that are no longer followed leave after the server was identified")
  func unfollowed() throws {
    let device = Device()
    device.kept = [
      KeptRecords(entityType: "Room", reason: .conflict, count: 2),
      KeptRecords(entityType: "Room", reason: .referenced, count: 1),
    ]
    var script = Script()
    script.store = { command in
      guard case .identify = command else { return device.store(command) }
      var identity = ServerIdentity()
      identity.leavesProjects = true
      return .stored(.identity(identity))
    }
    var round = ScriptedRound(script: script)
    round.drive()
    #expect(round.round.isEnded)
    let commands = round.commands
    let end = try #require(commands.firstIndex(of: .endLeaving(.unfollowed, isDone: false)))
    #expect(end < (commands.firstIndex { if case .applyPage = $0 { true } else { false } } ?? 0))
    #expect(round.round.report.left == 250 && round.round.report.heldBack == 2 && round.round.report.lost.removed == 0)
  }
}
