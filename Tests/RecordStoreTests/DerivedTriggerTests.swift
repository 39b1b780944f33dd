import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import TestSupport
import Testing
import VaultStore

@testable import RecordStore

/// The effects of the triggers for every write, also for one that is typed as SQL.
@Suite struct DerivedTriggerTests {
  private let database: Database
  private let entities: Entities

  init() throws { (database, entities) = try restorationDatabase() }

  private func count(_ sql: SQL) throws -> Int { try database.read { try $0.fetchOne(sql, as: Int.self) ?? 0 } }

  private func makeTree() throws {
    try database.write { db in
      let project = try db.insert(Project(title: "House"))
      var parent: Int64?
      for level in 0..<4 {
        let location = try db.insert(
          Location(projectId: project.projectId, parentLocationId: parent, title: "level \(level)"))
        parent = location.locationId
        let room = try db.insert(
          Room(projectId: project.projectId, locationId: location.locationId, title: "room \(level)"))
        try db.insert(
          AtmosphericLog(
            projectId: project.projectId, roomId: room.roomId, date: .nowInMilliseconds(), relativeHumidity: 50,
            temperature: 70))
      }
    }
  }

  @Test("Triggers of a program are noticed as soon as they are created or dropped, also temporary ones")
  func otherTriggers() throws {
    let body: SQL = "AFTER UPDATE ON OfflineRoom BEGIN SELECT 1; END"
    func exist(after sql: SQL? = nil) throws -> Bool {
      if let sql { try database.writeAsMigration { try $0.execute(sql) } }
      return try database.write { try DerivedTriggers.hasOthers(in: $0) }
    }
    #expect(try !exist())
    #expect(try exist(after: "CREATE TRIGGER program_room \(body)"))
    #expect(try !exist(after: "DROP TRIGGER program_room"))
    #expect(try exist(after: "CREATE TEMP TRIGGER program_room \(body)"))
    #expect(try !exist(after: "DROP TRIGGER program_room"))
    #expect(try exist(after: "CREATE TRIGGER program_room \(body)"))
  }

  /// The base of a change keeps the row's bytes, and they come back when the change is given up.
  @Test("Bytes of each length are base64 in the base") func bytesOfEveryLengthAreKeptInTheBase() throws {
    let key = try entities.entity("Photo").sharedColumns(in: entities).filter { $0.name == "contentKey" }
    var random = Seeded(7)
    // A long value too, because the cost of an encoding by byte must not grow with the square of its length.
    for length in Array(0..<70) + [200_000] {
      let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      let object = RowJSON.object(key, row: "record")
      let found = try database.read { db in
        try db.fetchOne(
          SQL(raw: "SELECT \(object) FROM (SELECT ? AS contentKey) AS record", arguments: [.blob(bytes)]),
          as: String.self)
      }
      #expect(found == #"{"contentKey":"\#(Data(bytes).base64EncodedString())"}"#, "\(length) bytes")
    }
  }

  /// Short decimals have a faster path than other numbers. All of them read back equal.
  @Test("Numbers in the base read back equal") func numbersInTheBaseReadBackAsTheyWere() throws {
    let key = try entities.entity("Room").sharedColumns(in: entities).filter { $0.name == "squareFootage" }
    let object = RowJSON.object(key, row: "record")
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    var numbers: [Double] = [
      0, -0.0, 0.1 + 0.2, 1 / 3, 0.0005, 1e12, 1e12 + 0.125, -1e12, 4_503_599_627_370.497, 1e15,
      123_456_789_012_345_680,
      // Numbers that 15 or 16 digits gave back as the one beside.
      916682.76334424806, -578271.01549337106, -317427.14358995983, 0.89238792321623706, -4.7256250429054185e-50,
    ]
    for digits in [1.0, 10, 1000, 10_000, 1_000_000, 1_000_000_000] {
      for _ in 0..<100 { numbers.append((Double.random(in: -1e9...1e9, using: &random) * digits).rounded() / digits) }
    }
    for _ in 0..<500 { numbers.append(Double.random(in: -1e6...1e6, using: &random)) }
    for _ in 0..<500 {
      let any = Double(bitPattern: .random(in: .min ... .max, using: &random))
      if any.isFinite { numbers.append(any) }
    }
    for number in numbers {
      let found = try database.read { db in
        try db.fetchOne(
          SQL(raw: "SELECT \(object) FROM (SELECT ? AS squareFootage) AS record", arguments: [.real(number)]),
          as: String.self)
      }
      let text = try #require(found).dropFirst(#"{"squareFootage":"#.count).dropLast()
      #expect(Double(text) == number, "\(number) as \(text), seed \(seed)")
    }
  }

  @Test("DELETE marks the row as deleted and keeps it") func aDELETEMarksTheRowAndKeepsIt() throws {
    try makeTree()
    try database.write { _ = try $0.execute("DELETE FROM OfflineAtmosphericLog WHERE logId = 1") }
    #expect(try count("SELECT count(*) FROM OfflineAtmosphericLog") == 4)
    #expect(try count("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 1") == 1)
  }

  @Test("Deleting a branch cascades to its locations, their rooms and their logs")
  func deletingABranchTakesTheLocationsBelowItTheirRoomsAndTheirLogs() throws {
    try makeTree()
    // The second level of four goes, with the two below it.
    try database.write { _ = try $0.execute("DELETE FROM OfflineLocation WHERE title = 'level 1'") }
    #expect(try count("SELECT count(*) FROM OfflineLocation WHERE isDeleted = 1") == 3)
    #expect(try count("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 1") == 3)
    #expect(try count("SELECT count(*) FROM OfflineAtmosphericLog WHERE isDeleted = 1") == 3)
    #expect(try count("SELECT count(*) FROM OfflineProject WHERE isDeleted = 1") == 0)
  }

  @Test("The dry run of a deletion counts exactly the records that it marks")
  func whatIsCountedBeforeADeletionIsWhatIsMarkedByIt() throws {
    try makeTree()
    let project = try #require(try database.read { try Project.all.fetchFirst($0) })
    let told = try database.write { db in
      try RecordWriter(db, entities: entities).delete(try entities.entity("Project"), project.uuid)
    }
    let marked = try ["Project", "Location", "Room", "AtmosphericLog"].reduce(0) { sum, type in
      try sum + count("SELECT count(*) FROM \(identifier: "Offline" + type) WHERE isDeleted = 1")
    }
    #expect(told == 13)
    #expect(marked == 13)
  }

  @Test("A purge removes the rows and their dependents") func aPurgeRemovesTheRow() throws {
    try makeTree()
    try database.write { db in
      try WriteMode.purge(on: db) {
        try db.execute("DELETE FROM OfflineProject")
      }
    }
    #expect(try count("SELECT count(*) FROM OfflineAtmosphericLog") == 0)
  }

  @Test("A change sets the update time and marks the record as pending") func aChangeIsStampedAndMarkedForSync() throws
  {
    try makeTree()
    try database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute(
          "UPDATE OfflineRoom SET isDirty = 0, syncStatus = 'synced', updatedAt = '2020-01-01T00:00:00.000Z'")
      }
    }
    #expect(try count("SELECT count(*) FROM OfflineRoom WHERE isDirty = 1") == 0)
    try database.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'attic' WHERE roomId = 2") }
    let room = try #require(try database.read { try $0.find(Room.self, 2) })
    #expect(room.isDirty)
    #expect(room.syncStatus == .pending)
    #expect(room.updatedAt > Date(timeIntervalSince1970: 1_700_000_000))
    #expect(try count("SELECT count(*) FROM OfflineRoom WHERE isDirty = 1") == 1)
  }

  @Test("A write of sync changes neither update time nor status") func whatSyncWritesIsNotStamped() throws {
    try makeTree()
    try database.write { db in
      try WriteMode.sync(on: db) {
        try db.execute("UPDATE OfflineRoom SET isDirty = 0, updatedAt = '2020-01-01T00:00:00.000Z' WHERE roomId = 1")
        try db.execute("UPDATE OfflineRoom SET title = 'from the server' WHERE roomId = 1")
      }
    }
    let room = try #require(try database.read { try $0.find(Room.self, 1) })
    #expect(room.updatedAt.sqlText == "2020-01-01T00:00:00.000Z")
    #expect(!room.isDirty)
  }

  @Test("A change of a device-only column is not queued") func whereAFileStandsOnThisDeviceIsNoChange() throws {
    try makeTree()
    try database.write { db in
      try markAsSynced("AtmosphericLog", in: db, entities)
      try db.execute("UPDATE OfflineAtmosphericLog SET photoLocalPath = 'x.jpg' WHERE logId = 1")
    }
    #expect(try count("SELECT isDirty FROM OfflineAtmosphericLog WHERE logId = 1") == 0)
  }

  // Found by the simulation, seeds 3838 and 5275: the write failed, because the index had other values than the row before.
  @Test("Full-text search follows a trigger of a program that changes the row again")
  func fullTextSearchFollowsOtherTriggers() throws {
    try database.write { db in
      try db.execute(
        """
        CREATE TEMP TRIGGER again AFTER UPDATE OF title ON OfflineProject
        BEGIN UPDATE OfflineProject SET projectNumber = 'ash' WHERE projectId = NEW.projectId; END
        """)
      let project = try db.insert(Project(title: "oak"))
      try db.execute(
        "UPDATE OfflineProject SET title = 'elm', projectNumber = 'fir' WHERE projectId = \(project.projectId)")
      try db.execute("DROP TRIGGER temp.again")
      try db.execute("INSERT INTO ProjectSearch (ProjectSearch, rank) VALUES ('integrity-check', 1)")
    }
    for (word, hits) in [("oak", 0), ("elm", 1), ("fir", 0), ("ash", 1)] {
      #expect(try count("SELECT count(*) FROM ProjectSearch WHERE ProjectSearch MATCH \(word)") == hits)
    }
  }

  @Test("Full-text search follows inserts, updates and deletions") func fullTextSearchFollowsInsertUpdateAndDelete()
    throws
  {
    try makeTree()
    func found(_ words: String) throws -> [String] {
      try database.read { try Search($0, entities: entities).find(words).map(\.snippet) }
    }
    _ = try database.write { db in
      try db.insert(Note(projectId: 1, title: "Roof", body: "Wet baseboard under the window"))
    }
    #expect(try found("baseb") == ["Wet [baseboard] under the window"])
    try database.write { _ = try $0.execute("UPDATE OfflineNote SET body = 'Dry by now'") }
    #expect(try found("baseboard").isEmpty)
    #expect(try found("dry").count == 1)
    try database.write { _ = try $0.execute("DELETE FROM OfflineNote") }
    #expect(try found("dry").isEmpty)
  }

  @Test(
    "Search text cannot use the query language of FTS5",
    arguments: ["\"", "NEAR(", "title:x", "a AND", "*", "-wet", "(", "'; DROP TABLE OfflineNote; --"])
  func noTextOfAPersonIsTheSearchLanguage(_ text: String) throws {
    do {
      _ = try database.read { try Search($0, entities: entities).find(text) }
    } catch let error as VaultError {
      #expect(error.code == .refused)
    }
  }
}
