@testable import CipherSQL
import Foundation
import TestSupport
import Testing

/// Pages by keyset.
@Suite struct PageTests {
  let database: Database

  /// 60 rooms with few different values, so that ties and NULL meet page ends.
  init() throws {
    database = try Database.empty()
    try database.write { db in
      try db.insert(Project(projectId: 1, title: "Mill Lane"))
      var generator = Seeded(7)
      for number in 1...60 {
        let area = Bool.random(using: &generator) ? nil : Double(Int.random(in: 0...2, using: &generator))
        let note = Bool.random(using: &generator) ? nil : ["a", "b"].randomElement(using: &generator)
        try db.insert(
          Room(
            roomId: Int64(number), projectId: 1, title: ["x", "y", "z"].randomElement(using: &generator) ?? "x",
            squareFootage: area, floor: Int64.random(in: 0...3, using: &generator), note: note,
            updatedAt: Date(millisecondsSince1970: Int64.random(in: 0...9, using: &generator)),
            isDeleted: number % 10 == 0))
      }
    }
  }

  private func checkPages(_ query: Query<Room>, whole: Query<Room>, location: SourceLocation = #_sourceLocation) throws
  {
    try database.read { db in
      let expected = try whole.fetch(db).map(\.roomId)
      for size in [1, 2, 7, 54, 100] {
        var found: [Int64] = []
        var cursor: PageCursor?
        repeat {
          let page = try query.page(db, size: size, after: cursor)
          #expect(page.records.count == size || page.next == nil, sourceLocation: location)
          found += page.records.map(\.roomId)
          cursor = page.next
        } while cursor != nil && found.count <= expected.count
        #expect(found == expected, "pages of \(size)", sourceLocation: location)
      }
    }
  }

  @Test("Pages in any ordering return each row once") func everyOrderingGivesEveryRowOnce() throws {
    let all = Room.all
    try checkPages(all, whole: all.order { $0.roomId.ascending })
    try checkPages(all.order { $0.floor.ascending }, whole: all.order { [$0.floor.ascending, $0.roomId.ascending] })
    try checkPages(
      all.order { $0.updatedAt.descending }, whole: all.order { [$0.updatedAt.descending, $0.roomId.descending] })
    try checkPages(
      all.order { [$0.floor.descending, $0.title.ascending] },
      whole: all.order { [$0.floor.descending, $0.title.ascending, $0.roomId.ascending] })
    let explicit = all.order { [$0.title.ascending, $0.roomId.descending] }
    try checkPages(explicit, whole: explicit)
  }

  @Test("Pages in an ordering with nulls return each row once") func nullHasItsPlace() throws {
    let all = Room.all
    try checkPages(
      all.order { $0.squareFootage.ascending }, whole: all.order { [$0.squareFootage.ascending, $0.roomId.ascending] })
    try checkPages(
      all.order { $0.squareFootage.descending },
      whole: all.order { [$0.squareFootage.descending, $0.roomId.descending] })
    try checkPages(
      all.order { [$0.note.descending, $0.squareFootage.ascending] },
      whole: all.order { [$0.note.descending, $0.squareFootage.ascending, $0.roomId.ascending] })
    try checkPages(
      all.order { [$0.note.ascending.nullsLast, $0.squareFootage.descending.nullsFirst] },
      whole: all.order { [$0.note.ascending.nullsLast, $0.squareFootage.descending.nullsFirst, $0.roomId.descending] })
  }

  @Test("A page seeks in the index without sorting") func aPageSeeksInTheIndex() throws {
    let query = Room.where { $0.projectId == 1 }.order { $0.updatedAt.descending }
    try database.read { db in
      let first = try query.pageStatement(size: 50, after: nil).0
      #expect(try plan(db, first) == ["SEARCH t0 USING INDEX OfflineRoom_byProject (projectId=? AND isDeleted=?)"])
      let cursor = try query.page(db, size: 20).next
      let second = try query.pageStatement(size: 20, after: cursor).0
      #expect(second.text.contains("AND (t0.updatedAt, t0.roomId) < (?, ?) AND"))
      let steps = try plan(db, second)
      // One step: no temporary b-tree for the order.
      #expect(
        steps == ["SEARCH t0 USING INDEX OfflineRoom_byProject (projectId=? AND isDeleted=? AND updatedAt<?)"])
    }
  }

  @Test("A page in mixed directions seeks by the first column") func mixedDirectionsSeekByTheFirstColumn() throws {
    let query = Room.all.order { [$0.floor.descending, $0.title.ascending] }
    try database.read { db in
      let cursor = try query.page(db, size: 20).next
      let sql = try query.pageStatement(size: 20, after: cursor).0
      #expect(
        sql.text.contains(
          """
          WHERE t0.floor <= ? AND (t0.floor < ? OR t0.floor = ? AND (t0.title > ? OR \
          t0.title = ? AND t0.roomId > ?)) AND t0.isDeleted = 0
          """))
      #expect(try plan(db, sql).contains { $0.contains("OfflineRoom_byFloor (floor<?)") })
    }
  }

  @Test("A page cursor converts to text and back") func aCursorTravelsAsText() throws {
    let query = Room.all.order { [$0.note.descending, $0.squareFootage.ascending] }
    let cursor = try #require(try database.read { try query.page($0, size: 3).next })
    let data = try JSONEncoder().encode([cursor])
    #expect(try JSONDecoder().decode([PageCursor].self, from: data) == [cursor])
    #expect(PageCursor(cursor.description) == cursor)
    let values: [SQLArgument] = [.null, .integer(.min), .real(-0.1), .text("a.b\0☕️"), .blob([0, 255]), .text("")]
    let other = PageCursor(ordering: 9, values: values)
    #expect(PageCursor(other.description) == other)
    for text in ["", "x", "9.q", "9.ix", "9.t%"] { #expect(PageCursor(text) == nil) }
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(PageCursor.self, from: Data("\"9.q\"".utf8)) }
  }

  @Test("A page cursor is refused by a query with another ordering") func aCursorBelongsToItsOrdering() throws {
    try database.read { db in
      let cursor = try Room.all.order { $0.floor.ascending }.page(db, size: 3).next
      for other in [Room.all.order { $0.floor.descending }, Room.all.order { $0.title.ascending }, Room.all] {
        let error = #expect(throws: SQLError.self) { try other.page(db, size: 3, after: cursor) }
        #expect(error?.code == .misuse)
      }
      #expect(throws: SQLError.self) { try Room.all.limit(3).page(db, size: 3) }
      #expect(throws: SQLError.self) { try Room.all.page(db, size: 0) }
    }
  }
}
