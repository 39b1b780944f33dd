@testable import CipherSQL
import CSQLCipher
import Foundation
import Testing

/// Records of a relation, fetched for many at once.
@Suite struct RelationTests {
  let database: Database

  init() throws { database = try Database.house() }

  @Test("A to-one relation returns each record with its target or nil") func toOne() throws {
    try database.read { db in
      let logs = try Log.all.order { $0.logId.ascending }.fetch(db)
      let pairs = try logs.with(Log.room, db)
      #expect(pairs.map { $0.0.logId } == [1, 2, 3, 4])
      #expect(pairs.map { $0.1?.title } == ["Attic", "Attic", nil, nil])
      let all = try logs.with(Log.room, db) { $0.includingDeleted() }
      #expect(all.map { $0.1?.title } == ["Attic", "Attic", nil, "Hall"])
    }
  }

  @Test("A to-many relation returns each record with its ordered targets") func toMany() throws {
    try database.read { db in
      let projects = try Project.all.order { $0.projectId.ascending }.fetch(db)
      let pairs = try projects.with(Project.rooms, db) { $0.order { $0.title.descending } }
      #expect(pairs.map { $0.1.map(\.title) } == [["Kitchen", "Attic"], ["Cellar"]])
      #expect(try [Project]().with(Project.rooms, db).isEmpty)
      #expect(throws: SQLError.self) { try projects.with(Project.rooms, db) { $0.limit(1) } }
    }
  }

  @Test("A relation of many records needs one statement per 500 keys") func aFewStatementsForManyRecords() throws {
    try database.write { db in
      for number in 10..<1210 {
        try db.insert(Room(roomId: Int64(number), projectId: 1, title: "Room \(number)"))
        try db.insert(Log(roomId: Int64(number), text: "log", updatedAt: Date(millisecondsSince1970: 0)))
      }
      let logs = try Log.all.fetch(db)
      var pairs: [(Log, Room?)] = []
      let count = try countStatements(db) { pairs = try logs.with(Log.room, db) }
      #expect(count == 3, "one for each 500 of 1202 keys")
      #expect(pairs.count == 1204)
      #expect(pairs.allSatisfy { $0.0.roomId == $0.1?.roomId || $0.0.roomId == nil || $0.0.roomId == 4 })
    }
  }
}

/// How many statements a connection runs during a closure.
func countStatements(_ db: Connection, _ body: () throws -> Void) rethrows -> Int {
  final class Counter { var count = 0 }
  let counter = Counter()
  sqlite3_trace_v2(
    db.handle, UInt32(SQLITE_TRACE_STMT),
    { _, context, _, _ in
      if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().count += 1 }
      return 0
    }, Unmanaged.passUnretained(counter).toOpaque())
  defer { sqlite3_trace_v2(db.handle, 0, nil, nil) }
  try body()
  return counter.count
}
