@testable import CipherSQL
import Foundation
import Testing

/// Writes by query and by chosen columns.
@Suite struct WriteTests {
  let database: Database

  init() throws { database = try Database.house() }

  @Test("An update by query changes the matching rows") func updateByQuery() throws {
    try database.write { db in
      let query = Room.where { $0.projectId == 1 }
      let changed = try query.update(db) {
        [$0.title.set("Room"), $0.squareFootage.set($0.squareFootage + 1), $0.floor.set($0.floor * 10)]
      }
      #expect(changed == 2)
      let rooms = try query.order { $0.roomId.ascending }.fetch(db)
      #expect(rooms.map(\.title) == ["Room", "Room"])
      #expect(rooms.map(\.squareFootage) == [121, 201])
      #expect(rooms.map(\.floor) == [20, 10])
      #expect(try Room.all.includingDeleted().where { $0.roomId == 4 }.fetchFirst(db)?.title == "Hall")
    }
  }

  @Test("An update has the expected SQL text") func theTextOfAnUpdate() throws {
    let query = Room.where { $0.floor == 1 }
    #expect(
      try query.updateStatement([Room.Columns(qualifier: "").title.set("x")]).text
        == "UPDATE OfflineRoom AS t0 SET title = ? WHERE t0.floor = ? AND t0.isDeleted = 0")
  }

  @Test("An update respects limit and order and refuses a distinct query") func updateWithALimit() throws {
    try database.write { db in
      let changed = try Room.all.order { $0.floor.descending }.limit(1).update(db) { $0.note.set(nil) }
      #expect(changed == 1)
      #expect(try Room.where { $0.note != nil }.count(db) == 0)
      #expect(throws: SQLError.self) { try Room.all.distinct().update(db) { $0.floor.set(1) } }
    }
  }

  @Test("A delete by query deletes the matching rows") func deleteByQuery() throws {
    try database.write { db throws in
      #expect(try Log.where { $0.roomId == nil }.delete(db) == 1)
      #expect(try Log.all.delete(db) == 3)
      #expect(try Log.all.includingDeleted().count(db) == 0)
      let error = #expect(throws: SQLError.self) { try Project.all.delete(db) }
      #expect(error?.constraint == .foreignKey)
    }
  }

  @Test("A delete counts rows that a trigger marks as deleted") func deleteWhereRowsAreMarked() throws {
    try database.write { db in
      try db.execute(
        """
        CREATE TRIGGER softly BEFORE DELETE ON OfflineLog BEGIN
          UPDATE OfflineLog SET isDeleted = 1 WHERE logId = OLD.logId;
          SELECT RAISE(IGNORE);
        END
        """)
      #expect(try Log.where { $0.roomId == 1 }.delete(db) == 2)
      #expect(try Log.all.count(db) == 2)
      #expect(try Log.all.includingDeleted().count(db) == 4)
    }
  }

  @Test("An update of chosen columns leaves the others unchanged") func chosenColumnsOfOneRecord() throws {
    try database.write { db in
      var room = try #require(try db.find(Room.self, 1))
      try Room.where { $0.roomId == 1 }.update(db) { $0.floor.set(7) }
      room.title = "Loft"
      room.note = nil
      try db.update(room) { [$0.title, $0.note] }
      let stored = try #require(try db.find(Room.self, 1))
      #expect(stored.title == "Loft")
      #expect(stored.note == nil)
      #expect(stored.floor == 7, "what was not chosen stays")
      room.roomId = 99
      let error = #expect(throws: SQLError.self) { try db.update(room) { [$0.title] } }
      #expect(error?.code == .notFound)
    }
  }

  @Test("upsert writes the named columns over the row in its way and keeps all others")
  func upsert() throws {
    try database.write { db in
      let old = try #require(try db.find(Room.self, 1))
      var room = old
      (room.roomId, room.title, room.floor) = (0, "Loft", 9)
      let stored = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { [$0.title] })
      #expect(stored.roomId == 1, "the row in the way is the one that is written over")
      #expect(stored.title == "Loft")
      #expect(stored.floor == old.floor)
      var expected = old
      expected.title = "Loft"
      #expect(try db.find(Room.self, 1) == expected)
      let kept = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { _ in [] })
      #expect(kept == expected)
      let both = try db.upsert(room, onConflict: { [$0.uuid] }, updating: { [$0.title, $0.floor] })
      expected.floor = 9
      #expect(both == expected)
      #expect(try Room.all.count(db) == 3)
      let fresh = try db.upsert(Room(projectId: 1, title: "Porch"), onConflict: { [$0.uuid] }, updating: { [$0.title] })
      #expect(fresh.roomId > 4)
      #expect(throws: SQLError.self) { try db.upsert(room, onConflict: { [$0.title] }, updating: { [$0.floor] }) }
    }
  }

  @Test("insertOrIgnore ignores duplicates and refuses other violations") func insertOrIgnore() throws {
    try database.write { db in
      let room = try #require(try db.find(Room.self, 1))
      #expect(try !db.insertOrIgnore(room))
      #expect(try db.insertOrIgnore(Room(projectId: 1, title: "Porch")))
      #expect(throws: SQLError.self) { try db.insertOrIgnore(Room(projectId: 1, title: "")) }
    }
  }

  @Test("Records are inserted, found, updated and deleted by key") func recordsByKey() throws {
    try database.write { db in
      var room = Room(projectId: 1, title: "Porch")
      try db.insert(&room)
      #expect(room.roomId == db.lastInsertedRowID)
      room.title = "Veranda"
      try db.update(room)
      #expect(try db.find(Room.self, room.roomId) == room)
      #expect(try db.delete(room))
      #expect(try !db.delete(room))
      #expect(try db.find(Room.self, 4) == nil, "marked as deleted")
      try db.insert(contentsOf: (0..<3).map { Log(text: "\($0)", updatedAt: room.updatedAt) })
      #expect(try Log.all.count(db) == 7)
    }
  }
}
