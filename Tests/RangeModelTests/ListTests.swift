import CipherSQL
import Foundation
import RangeModel
import Testing

/// Lists in which what waits for the server stands among what came from it, and how much waits.
@Suite struct ListTests {
  private let bench: RangeBench

  init() throws { bench = try RangeBench() }

  private func day(_ number: Int) -> Date { Date(timeIntervalSince1970: 1_767_225_600 + Double(number) * 86_400) }

  private func read<Result>(_ body: (Connection) throws -> Result) throws -> Result { try bench.database.read(body) }

  @Test("Pending sessions are listed and marked among synced ones") func pendingSessionsStandAmongTheOthers() throws {
    let old = try bench.record(day(1))
    try bench.settleAll()
    let new = try bench.record(day(2))
    var list = try read { try RangeQueries.recentSessions($0, limit: 10) }
    #expect(list.map(\.uuid) == [new.session.uuid, old.session.uuid])
    #expect(list.map(\.isPending) == [true, false] && list.map(\.isFailed) == [false, false])
    #expect(list.map(\.rifle) == ["Tikka T3x", "Tikka T3x"] && list.map(\.location) == ["Quarry", "Quarry"])
    #expect(list.map(\.dopeEntries) == [2, 2] && list.map(\.shots) == [5, 5] && list.map(\.groups) == [1, 1])
    // What came from the server is marked as of when.
    #expect(list[0].asOf == nil && list[1].asOf == Date(timeIntervalSince1970: 1_767_268_800))
    #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.map(\.uuid) == [new.session.uuid])
    // A hold that is added to the old one makes it wait as well.
    try bench.run("INSERT INTO OfflineDopeEntry (sessionId, distance) VALUES (\(old.session.sessionId), 900)")
    list = try read { try RangeQueries.recentSessions($0, limit: 10) }
    #expect(list.map(\.isPending) == [true, true])
    let pending = try read { try RangeQueries.pendingSessions($0) }
    #expect(pending.map(\.uuid) == [new.session.uuid, old.session.uuid])
    #expect(pending.map(\.records) == [10, 1] && pending.map(\.failed) == [0, 0])
    #expect(try bench.value("SELECT pending FROM sessions WHERE uuid = \(old.session.uuid)", as: Int.self) == 1)
    try bench.settleAll()
    #expect(try read { try RangeQueries.recentSessions($0, limit: 10) }.allSatisfy { !$0.isPending })
    #expect(try read { try RangeQueries.pendingSessions($0) }.isEmpty)
  }

  /// Each kind of record makes its session wait.
  @Test("An unsent change of any dependent record marks its session as pending") func whateverWaitsMakesItsSessionWait()
    throws
  {
    let recorded = try bench.record()
    try bench.database.write { db in
      try recorded.group.saveMeasurement(
        [TargetPoint(x: 0, y: 0), TargetPoint(x: 1, y: 1)], bulletDiameter: 0.264, in: db)
      try db.insert(GroupImage(groupEntryId: recorded.group.groupEntryId))
    }
    for (table, change) in [
      ("OfflineSession", "notes = 'x'"), ("OfflineDopeEntry", "notes = 'x'"), ("OfflineChronoSession", "notes = 'x'"),
      ("OfflineVelocityReading", "isExcluded = 1 - isExcluded"), ("OfflineGroupEntry", "notes = 'x'"),
      ("OfflineGroupMeasurement", "bulletDiameter = 0.308"), ("OfflineHolePosition", "x = x + 1"),
      ("OfflineGroupImage", "caption = 'x'"),
    ] {
      try bench.settleAll()
      #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.map(\.isPending) == [false], "\(table)")
      try bench.run(SQL(raw: "UPDATE \(table) SET \(change) WHERE uuid = (SELECT min(uuid) FROM \(table))"))
      #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.map(\.isPending) == [true], "\(table)")
      let waiting = try read { try UnsentWork.read($0) }
      #expect(waiting.sessions == 1 && waiting.records == 1, "\(table)")
      let isOfGroup = table.contains("Group") || table.contains("Hole")
      let groups = try read { try RangeQueries.groupsOfSession($0, sessionId: recorded.session.sessionId) }
      #expect(groups.map(\.isPending) == [isOfGroup], "\(table)")
      let isOfString = table.contains("Chrono") || table.contains("Velocity")
      let strings = try read { try RangeQueries.chronoSessionsOfSession($0, sessionId: recorded.session.sessionId) }
      #expect(strings.map(\.isPending) == [isOfString], "\(table)")
    }
    // A deletion waits, too.
    try bench.settleAll()
    try bench.run("DELETE FROM OfflineDopeEntry WHERE distance = 300")
    #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.map(\.isPending) == [true])
    try bench.settleAll()
    try bench.run("DELETE FROM OfflineSession")
    #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.isEmpty)
    #expect(try read { try RangeQueries.pendingSessions($0) }.map(\.isDeleted) == [true])
  }

  @Test("Pending entries are listed among the other entries of their session")
  func pendingEntriesStandAmongTheOthersOfTheirSession() throws {
    let session = try bench.record().session.sessionId
    try bench.settleAll()
    try bench.database.write { db in
      try db.insert(DopeEntry(sessionId: session, distance: 450, elevationMil: 2.5, windageMil: -0.3))
      try db.insert(GroupEntry(sessionId: session, groupNumber: 2, distance: 300, numberOfShots: 5))
      try db.insert(ChronoSession(sessionId: session, chronographModel: "Labradar"))
    }
    let holds = try read { try RangeQueries.dopeEntriesOfSession($0, sessionId: session) }
    #expect(holds.map(\.distance) == [300, 450, 600] && holds.map(\.isPending) == [false, true, false])
    #expect(holds.map(\.ammunition) == ["ELD Match", nil, "ELD Match"])
    // Each in both units, whichever was given.
    #expect(near(try #require(holds[0].elevationMil), Angle(moa: 4.25).mil))
    #expect(near(try #require(holds[1].elevationMoa), Angle(mil: 2.5).moa) && holds[1].elevationMil == 2.5)
    #expect(near(try #require(holds[1].windageMoa), Angle(mil: -0.3).moa))
    #expect(holds[0].windageMoa == 0 && holds[0].windageMil == 0)
    let groups = try read { try RangeQueries.groupsOfSession($0, sessionId: session) }
    #expect(groups.map(\.groupNumber) == [1, 2] && groups.map(\.isPending) == [false, true])
    let strings = try read { try RangeQueries.chronoSessionsOfSession($0, sessionId: session) }
    #expect(strings.map(\.shots) == [4, 0] && strings.map(\.mean) == [2708.5, nil])
    #expect(strings.map(\.lot) == ["A-17", nil] && strings.map(\.isPending) == [false, true])
  }

  @Test("A refused record is marked as failed with the reason of the server")
  func whatTheServerRefusedIsMarkedWithItsReason() throws {
    let session = try bench.record().session.sessionId
    try bench.settleAll()
    try bench.run("INSERT INTO OfflineDopeEntry (sessionId, distance) VALUES (\(session), 2600)")
    try bench.refuse("DopeEntry", "OfflineDopeEntry", "distance: at most 2,500")
    let holds = try read { try RangeQueries.dopeEntriesOfSession($0, sessionId: session) }
    #expect(holds.map(\.isPending) == [false, false, true] && holds.map(\.isFailed) == [false, false, true])
    #expect(holds.map(\.error) == [nil, nil, "distance: at most 2,500"])
    #expect(try read { try RangeQueries.recentSessions($0, limit: 1) }.map(\.isFailed) == [true])
    let waiting = try read { try UnsentWork.read($0) }
    #expect(waiting.failed == 1 && waiting.contested == 0)
    #expect(try read { try RangeQueries.pendingSessions($0) }.map(\.failed) == [1])
  }

  @Test("Unsent work counts sessions, records and failures and compares them with thresholds")
  func howMuchWaitsAndWhenItIsMuch() throws {
    #expect(try read { try UnsentWork.read($0) }.isEmpty)
    try bench.record(day(1))
    try bench.record(day(2))
    let waiting = try read { try UnsentWork.read($0) }
    #expect(waiting.sessions == 2 && waiting.records == 20 && waiting.failed == 0 && waiting.images == 0)
    #expect(waiting.since != nil && !waiting.isEmpty)
    #expect(!waiting.isMuch() && waiting.isMuch(records: 20) && !waiting.isMuch(records: 21))
    #expect(waiting.isMuch(imageBytes: 0))
  }

  @Test("The dope card shows the latest hold at each distance") func theDopeCardHasTheLastHoldAtEachDistance() throws {
    try bench.record(day(1))
    let later = try bench.record(day(2)).session.sessionId
    try bench.run("UPDATE OfflineDopeEntry SET elevationMoa = 4.5 WHERE sessionId = \(later) AND distance = 300")
    try bench.run("DELETE FROM OfflineDopeEntry WHERE sessionId = \(later) AND distance = 600")
    let card = try read { try RangeQueries.dopeCard($0, rifleSetupId: bench.rifle.rifleSetupId) }
    #expect(card.map(\.distance) == [300, 600] && card.map(\.elevationMoa) == [4.5, 13.5])
    #expect(card.map(\.sessionDate) == [day(2), day(1)] && card.allSatisfy(\.isPending))
    #expect(try read { try RangeQueries.dopeCard($0, rifleSetupId: 99) }.isEmpty)
  }

  @Test("Reference data is listed by name with the time of its last sync") func referenceDataIsListedWithTheTimeItCame()
    throws
  {
    let fetched = Date(timeIntervalSince1970: 1_767_225_600)
    try bench.run("INSERT INTO OfflineRifleSetup (name) VALUES ('anschütz 54')")
    let rifles = try read { try RangeQueries.rifleSetups($0) }
    #expect(rifles.map(\.name) == ["anschütz 54", "Tikka T3x"] && rifles.map(\.lastSyncedAt) == [nil, fetched])
    #expect(try read { try RangeQueries.ammunitions($0) }.map(\.grain) == [140])
    let lots = try read { try RangeQueries.ammoLots($0, ammunitionId: bench.ammunition.ammunitionId) }
    #expect(lots.map(\.lotNumber) == ["A-17"])
    #expect(try read { try RangeQueries.savedLocations($0) }.map(\.latitude) == [45.5])
  }

  @Test("The dashboard shows the stored summary, recent sessions and unsent work")
  func theDashboardShowsWhatIsThereWithoutANetwork() throws {
    var board = try read { try Dashboard.read($0) }
    #expect(board.isEmpty && board.summary == nil && board.asOf == nil && board.waiting.isEmpty)
    // A summary of an older server, which tells less.
    try bench.run("INSERT INTO OfflineAnalyticsSummary (totalSessions, bestGroupSizeMoa) VALUES (41, 0.38)")
    try bench.settleAll()
    for number in 1...7 { try bench.record(day(number)) }
    board = try read { try Dashboard.read($0) }
    #expect(board.summary?.totalSessions == 41 && board.summary?.bestGroupSizeMoa == 0.38)
    #expect(board.summary?.totalRoundsFired == nil && board.asOf == Date(timeIntervalSince1970: 1_767_268_800))
    #expect(board.recentSessions.map(\.sessionDate) == (3...7).reversed().map(day))
    #expect(board.recentSessions.allSatisfy(\.isPending) && board.waiting.sessions == 7 && !board.isEmpty)
    // Should a second one come, the later counts.
    try bench.run(
      "INSERT INTO OfflineAnalyticsSummary (totalSessions, lastSyncedAt) VALUES (42, '2026-02-01T00:00:00.000Z')")
    #expect(try read { try Dashboard.read($0, sessions: 1) }.summary?.totalSessions == 42)
  }
}
