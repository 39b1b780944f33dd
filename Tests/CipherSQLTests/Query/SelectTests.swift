import CipherSQL
import Testing

/// Chosen columns, aggregates and groups.
@Suite struct SelectTests {
  let database: Database

  init() throws { database = try Database.house() }

  @Test("Selected columns are fetched as tuples") func columnsAsTuples() throws {
    let query = Room.all.order { $0.title.ascending }.select { ($0.title, $0.squareFootage) }
    #expect(
      try query.sql.text
        == "SELECT t0.title, t0.squareFootage FROM OfflineRoom AS t0 WHERE t0.isDeleted = 0 ORDER BY t0.title")
    let rows = try database.read { try query.fetch($0) }
    #expect(rows.map(\.0) == ["Attic", "Cellar", "Kitchen"])
    #expect(rows.map(\.1) == [120, nil, 200])
  }

  @Test("One selected column is fetched as an array") func oneColumn() throws {
    let titles = try database.read { try Room.where { $0.floor > 0 }.select { $0.title }.fetch($0) }
    #expect(titles.sorted() == ["Attic", "Kitchen"])
  }

  @Test("Aggregates are computed over the selected rows") func aggregates() throws {
    let query = Room.all.select {
      (countAll(), $0.squareFootage.count(), $0.squareFootage.sum(), $0.squareFootage.average(), $0.title.min())
    }
    #expect(
      try query.sql.text == """
        SELECT count(*), count(t0.squareFootage), sum(t0.squareFootage), avg(t0.squareFootage), min(t0.title) \
        FROM OfflineRoom AS t0 WHERE t0.isDeleted = 0
        """)
    let row = try #require(try database.read { try query.fetchFirst($0) })
    #expect(row == (3, 2, 320, 160, "Attic"))
    let none = try #require(
      try database.read { try Room.where { $0.floor > 9 }.select { ($0.floor.sum(), $0.floor.max()) }.fetchFirst($0) })
    #expect(none == (nil, nil))
  }

  @Test("Groups are filtered by HAVING and ordered") func groups() throws {
    let query = Room.all.includingDeleted()
      .group { $0.projectId }.having { _ in countAll() > 1 }
      .order { $0.projectId.ascending }
      .select { ($0.projectId, $0.floor.count(distinct: true), $0.squareFootage.sum()) }
    #expect(
      try query.sql.text == """
        SELECT t0.projectId, count(DISTINCT t0.floor), sum(t0.squareFootage) FROM OfflineRoom AS t0 \
        GROUP BY t0.projectId HAVING count(*) > ? ORDER BY t0.projectId
        """)
    let rows = try database.read { try query.fetch($0) }
    #expect(rows.count == 1)
    #expect(rows[0] == (1, 2, 320))
  }

  @Test("Rows are grouped by two columns") func groupByTwo() throws {
    let rows = try database.read {
      try Room.all.group { ($0.projectId, $0.status) }.order { [$0.projectId.ascending, $0.status.ascending] }
        .select { ($0.projectId, $0.status, countAll()) }.fetch($0)
    }
    #expect(rows.map(\.0) == [1, 1, 2])
    #expect(rows.map(\.1) == [.active, .done, .none])
  }

  @Test("A distinct selection returns each value once") func distinct() throws {
    let query = Room.all.includingDeleted().select { $0.floor }.distinct()
    #expect(try query.sql.text == "SELECT DISTINCT t0.floor FROM OfflineRoom AS t0")
    #expect(try database.read { try query.fetch($0) }.sorted() == [0, 1, 2])
  }

  @Test("Count and existence respect limits, groups and deleted rows") func countingAndExistence() throws {
    try database.read { db throws in
      #expect(try Room.all.count(db) == 3)
      #expect(try Room.all.includingDeleted().count(db) == 4)
      #expect(try Room.all.limit(2).count(db) == 2)
      #expect(try Room.all.group { $0.projectId }.count(db) == 2)
      #expect(try Room.where { $0.floor == 2 }.exists(db))
      #expect(try !Room.where { $0.floor == 7 }.exists(db))
    }
  }

  @Test("Rows can be read one at a time") func stepping() throws {
    try database.read { db in
      var titles: [String] = []
      try Room.all.order { $0.title.descending }.forEach(db) { titles.append($0.title) }
      #expect(titles == ["Kitchen", "Cellar", "Attic"])
      let two = try Room.all.cursor(db) { cursor in
        var count = 0
        while count < 2, try cursor.next() != nil { count += 1 }
        return count
      }
      #expect(two == 2)
      try Room.all.cursor(db) { cursor in
        while try cursor.next() != nil {}
        #expect(try cursor.next() == nil)
      }
      #expect(try Room.all.order { $0.title.ascending }.fetchFirst(db)?.title == "Attic")
      #expect(try Room.where { $0.floor == 7 }.fetchFirst(db) == nil)
    }
  }

  @Test("NULLS LAST orders nulls last") func theOrderOfNull() throws {
    let query = Room.all.order { $0.squareFootage.ascending.nullsLast }
    #expect(try query.sql.text.hasSuffix("ORDER BY t0.squareFootage NULLS LAST"))
    #expect(try database.read { try query.fetch($0).map(\.title) } == ["Attic", "Kitchen", "Cellar"])
  }

  @Test("fetchFirst returns the first row of fetch for every limit and offset, in every kind of query")
  func firstIsTheFirstOfAll() throws {
    try Database.house().read { db throws in
      for limit in [-1, 0, 1, 2, 9] {
        for offset in [nil, 0, 1, 2, 9] as [Int?] {
          let rooms = Room.all.order { $0.title.ascending }.limit(limit, offset: offset)
          #expect(try rooms.fetchFirst(db) == rooms.fetch(db).first, "limit \(limit), offset \(offset ?? -1)")
          let titles = Room.all.order { $0.title.ascending }.select { $0.title }.limit(limit, offset: offset)
          #expect(try titles.fetchFirst(db) == titles.fetch(db).first)
          let pairs = Room.all.order { $0.title.ascending }.select { ($0.title, $0.floor) }.limit(limit, offset: offset)
          #expect(try pairs.fetchFirst(db)?.0 == pairs.fetch(db).first?.0)
          let joined = Room.all.join(Project.self) { $0.projectId == $1.projectId }
            .order { room, _ in room.title.ascending }.limit(limit, offset: offset)
          #expect(try joined.fetchFirst(db)?.0 == joined.fetch(db).first?.0)
        }
      }
    }
  }
}
