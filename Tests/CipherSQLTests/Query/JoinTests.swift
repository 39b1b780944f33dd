import CipherSQL
import Testing

/// Several tables: joins, self joins, subqueries.
@Suite struct JoinTests {
  let database: Database

  init() throws { database = try Database.house() }

  @Test("An inner join returns pairs and uses an index") func innerJoin() throws {
    let query = Log.all.join(Room.self) { log, room in log.roomId == room.roomId }
      .where { log, room in room.title == "Attic" }
      .order { log, _ in log.logId.descending }
    #expect(
      try query.sql.text == """
        SELECT t0.logId, t0.roomId, t0.text, t0.updatedAt, t0.isDeleted, t1.roomId, t1.uuid, t1.projectId, t1.title, \
        t1.status, t1.squareFootage, t1.floor, t1.note, t1.updatedAt, t1.isDeleted \
        FROM OfflineLog AS t0 JOIN OfflineRoom AS t1 ON t0.roomId IS t1.roomId AND t1.isDeleted = 0 \
        WHERE t1.title = ? AND t0.isDeleted = 0 ORDER BY t0.logId DESC
        """)
    try database.read { db in
      let rows = try query.fetch(db)
      #expect(rows.map { $0.0.text } == ["less wet", "wet"])
      #expect(rows.allSatisfy { $0.1.title == "Attic" })
      #expect(try query.count(db) == 2)
      #expect(try plan(db, query.sql).contains { $0.contains("SEARCH") }, "IS is served by an index")
    }
  }

  @Test("A left join keeps rows without a partner") func leftJoinKeepsWhatHasNoPartner() throws {
    let query = Log.all.leftJoin(Room.self) { log, room in log.roomId == room.roomId }
      .order { log, _ in log.logId.ascending }
    #expect(try query.sql.text.contains("LEFT JOIN OfflineRoom AS t1 ON t0.roomId IS t1.roomId AND t1.isDeleted = 0"))
    try database.read { db in
      let rows = try query.fetch(db)
      // Log 3 has no room, and the room of log 4 is marked as deleted.
      #expect(rows.map { $0.1?.title } == ["Attic", "Attic", nil, nil])
      let all = try query.includingDeleted().fetch(db)
      #expect(all.map { $0.1?.title } == ["Attic", "Attic", nil, "Hall"])
      #expect(try plan(db, query.sql).contains { $0.contains("SEARCH t1 USING INTEGER PRIMARY KEY") })
    }
  }

  @Test("Columns of a left join are optional") func columnsOfALeftJoinAreOptional() throws {
    let query = Log.all.leftJoin(Room.self) { log, room in log.roomId == room.roomId }
      .where { _, room in room.title == nil || room.title != "Cellar" }
      .order { log, _ in log.logId.ascending }
      .select { log, room in (log.text, room.title, room.note) }
    let rows: [(String, String?, String?)] = try database.read { try query.fetch($0) }
    #expect(rows.map(\.1) == ["Attic", "Attic", nil, nil])
    #expect(rows.map(\.2) == ["damp", "damp", nil, nil])
  }

  @Test("Three tables can be joined and grouped") func threeTables() throws {
    let counts = Log.all
      .join(Room.self) { log, room in log.roomId == room.roomId }
      .join(Project.self) { _, room, project in room.projectId == project.projectId }
      .group { _, _, project in project.title }
      .select { _, _, project in (project.title, countAll()) }
    let rows = try database.read { try counts.fetch($0) }
    #expect(rows.count == 1)
    #expect(rows[0] == ("Mill Lane", 2))
  }

  @Test("A table can be joined with itself") func aTableWithItself() throws {
    let query = Room.all.join(Room.self) { lower, upper in
      lower.projectId == upper.projectId && lower.floor < upper.floor
    }
    #expect(try query.sql.text.contains("ON t0.projectId = t1.projectId AND t0.floor < t1.floor AND t1.isDeleted = 0"))
    let pairs = try database.read { try query.fetch($0) }
    #expect(pairs.map { $0.0.title + "/" + $0.1.title } == ["Kitchen/Attic"])
  }

  @Test("Subqueries serve as list, existence test and scalar") func subqueries() throws {
    let large = Room.where { $0.squareFootage > 150 }
    let withLarge = Project.where { $0.projectId.in(large.select { $0.projectId }) }
    #expect(
      try withLarge.sql.text.hasSuffix(
        """
        WHERE t0.projectId IN (SELECT t1.projectId FROM OfflineRoom AS t1 \
        WHERE t1.squareFootage > ? AND t1.isDeleted = 0) AND t0.isDeleted = 0
        """))
    let dry = Project.where { project in !exists(Room.where { $0.projectId == project.projectId && $0.note != nil }) }
    #expect(
      try dry.sql.text.hasSuffix(
        """
        WHERE NOT EXISTS (SELECT 1 FROM OfflineRoom AS t1 \
        WHERE t1.projectId = t0.projectId AND t1.note IS NOT NULL AND t1.isDeleted = 0) AND t0.isDeleted = 0
        """))
    let counted = Project.all.order { $0.projectId.ascending }.select { project in
      (project.title, scalar(Room.where { $0.projectId == project.projectId }.select { _ in countAll() }) ?? 0)
    }
    try database.read { db throws in
      #expect(try withLarge.fetch(db).map(\.title) == ["Mill Lane"])
      #expect(try dry.fetch(db).map(\.title) == ["Harbour"])
      #expect(try counted.fetch(db).map(\.1) == [2, 1])
    }
  }

  @Test("A subquery can use the table of its outer query") func aSubqueryOfTheSameTable() throws {
    // The top room of each project.
    let query = Room.where { room in
      !exists(Room.where { $0.projectId == room.projectId && $0.floor > room.floor })
    }.order { $0.roomId.ascending }
    #expect(
      try query.sql.text.contains("FROM OfflineRoom AS t1 WHERE t1.projectId = t0.projectId AND t1.floor > t0.floor"))
    #expect(try database.read { try query.fetch($0).map(\.title) } == ["Attic", "Cellar"])
  }

  @Test("A query inside itself is refused") func aQueryInsideItselfIsRefused() throws {
    let rooms = Room.where { $0.floor > 0 }
    let query = rooms.where { outer in exists(rooms.where { $0.projectId == outer.projectId }) }
    let error = #expect(throws: SQLError.self) { try query.sql }
    #expect(error?.code == .misuse)
  }
}
