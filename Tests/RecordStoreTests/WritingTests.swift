import Foundation
import RestorationModel
import StoreSupport
import SyncModel
import Testing

@testable import CipherSQL
@testable import RecordStore
@testable import VaultStore

/// Ways of writing a row that triggers, clauses and schema files make unusual.
@Suite struct WritingTests {
  private let database: Database
  private let entities: Entities

  init() throws {
    (database, entities) = try restorationDatabase()
    try database.write { db in
      let project = try db.insert(Project(title: "House"))
      for title in ["Kitchen", "Hall", "Cellar"] { try db.insert(Room(projectId: project.projectId, title: title)) }
      for type in ["Project", "Room"] { try markAsSynced(type, in: db, entities) }
    }
  }

  private func run(_ sql: SQL) throws { _ = try database.write { try $0.execute(sql) } }
  private func value<Value: SQLValue>(_ sql: SQL, as type: Value.Type = Value.self) throws -> Value? {
    try database.read { try $0.fetchOne(sql, as: type) }
  }

  // MARK: The base

  @Test(
    "A trigger that changes the same row leaves the base as the server has it",
    arguments: ["AFTER", "BEFORE"], ["TEMP", ""])
  func baseIsCapturedFirst(event: String, place: String) throws {
    try database.write { db in
      try db.execute(
        SQL(
          raw: """
            CREATE \(place) TRIGGER shouting \(event) UPDATE OF title ON OfflineRoom BEGIN
              UPDATE OfflineRoom SET roomType = upper(NEW.title) WHERE roomId = NEW.roomId;
            END
            """))
      try db.execute("UPDATE OfflineRoom SET title = 'Attic' WHERE roomId = 2")
      let base = try SyncValue(
        parsing: try #require(try db.fetchOne("SELECT fields FROM SyncBase WHERE entityId = 2", as: String.self)))
      guard case .object(let fields) = base else { Issue.record("the base is no object"); return }
      #expect(fields["title"] == "Hall")
      #expect(fields["roomType"] != "ATTIC")
    }
    #expect(try value("SELECT count(*) FROM OfflineSyncQueue WHERE entityType = 'Room'", as: Int.self) == 1)
    #expect(try value("SELECT isDirty FROM OfflineRoom WHERE roomId = 2", as: Bool.self) == true)
  }

  @Test("The base of an update that OR IGNORE dropped does not outlive the version it belongs to")
  func baseOfIgnoredUpdate() throws {
    try run("CREATE UNIQUE INDEX oneTitle ON OfflineRoom (title)")
    try run("UPDATE OR IGNORE OfflineRoom SET title = 'Kitchen' WHERE roomId = 2")
    #expect(try value("SELECT isDirty FROM OfflineRoom WHERE roomId = 2", as: Bool.self) == false)
    try database.write { db in
      try WriteMode.sync(on: db) {
        _ = try db.execute("UPDATE OfflineRoom SET title = 'Corridor', syncVersion = 2 WHERE roomId = 2")
      }
    }
    try run("UPDATE OfflineRoom SET title = 'Attic' WHERE roomId = 2")
    #expect(
      try value(
        "SELECT json_extract(fields, '$.title') || syncVersion FROM SyncBase WHERE entityId = 2", as: String.self)
        == "Corridor2")
  }

  // MARK: OR REPLACE

  @Test(
    "A statement that would replace another record is refused, on every connection",
    arguments: [
      "INSERT OR REPLACE INTO OfflineRoom (roomId, projectId, title) VALUES (2, 1, 'x')",
      "REPLACE INTO OfflineRoom (roomId, projectId, title) VALUES (2, 1, 'x')",
      "INSERT OR REPLACE INTO OfflineRoom (uuid, projectId, title) SELECT uuid, 1, 'x' FROM OfflineRoom WHERE roomId = 2",
      "INSERT OR REPLACE INTO OfflineRoom (projectId, title) VALUES (1, 'HALL')",
      "UPDATE OR REPLACE OfflineRoom SET title = 'hall' WHERE roomId = 1",
      "UPDATE OR REPLACE OfflineRoom SET roomId = 2 WHERE roomId = 1",
      "UPDATE OR REPLACE OfflineRoom SET uuid = (SELECT uuid FROM OfflineRoom WHERE roomId = 2) WHERE roomId = 1",
      "INSERT OR REPLACE INTO OfflineRoom (projectId, title, roomType) VALUES (1, 'x', 'wet')",
      "INSERT OR REPLACE INTO OfflineRoom (projectId, title, roomType) VALUES (1, 'x', 'lobby')",
    ], [false, true])
  func replaceIsRefused(_ sql: String, recursive: Bool) throws {
    try run("UPDATE OfflineRoom SET roomType = CASE roomId WHEN 1 THEN 'wet' ELSE 'lobby' || roomId END")
    try run("CREATE UNIQUE INDEX oneTitle ON OfflineRoom (title COLLATE NOCASE)")
    try run("CREATE UNIQUE INDEX oneWet ON OfflineRoom (roomType) WHERE roomType = 'wet'")
    try run(
      "CREATE UNIQUE INDEX oneType ON OfflineRoom (projectId, rtrim(roomType, '0123456789') DESC) WHERE roomId <> 3")
    try database.write { db in
      try DerivedTriggers.drop(in: db)
      try VaultTriggers.create(in: db)
    }
    if recursive { try database.withWriter { try $0.pragma("PRAGMA recursive_triggers = ON") } }
    let before = try value("SELECT group_concat(roomId || title || uuid) FROM OfflineRoom", as: String.self)
    let error = #expect(throws: SQLError.self) { try run(SQL(raw: sql)) }
    // A uuid or local id that is taken is refused for that; with recursive triggers SQLite says so first.
    let isAboutIdentity = sql.contains("SET uuid") || sql.contains("SET roomId")
    #expect(isAboutIdentity || error?.message.contains("OR REPLACE would remove") == true)
    #expect(try value("SELECT group_concat(roomId || title || uuid) FROM OfflineRoom", as: String.self) == before)
    #expect(try value("SELECT count(*) FROM SyncTakenValue WHERE isReplaced = 0", as: Int.self) == 1)
  }

  @Test("OR REPLACE without a replaced record, OR IGNORE and ON CONFLICT behave as in SQLite")
  func otherConflictsGoOn() throws {
    try run("CREATE UNIQUE INDEX oneTitle ON OfflineRoom (title)")
    try database.write { db in
      try DerivedTriggers.drop(in: db)
      try VaultTriggers.create(in: db)
    }
    try run("INSERT OR REPLACE INTO OfflineRoom (projectId, title) VALUES (1, 'Attic')")
    try run("INSERT OR IGNORE INTO OfflineRoom (projectId, title) VALUES (1, 'Hall')")
    try run("UPDATE OR IGNORE OfflineRoom SET title = 'Attic' WHERE title = 'Hall'")
    try run("UPDATE OR REPLACE OfflineRoom SET title = 'Lobby' WHERE title = 'Cellar'")
    try run(
      """
      INSERT INTO OfflineRoom (projectId, title) VALUES (1, 'Hall')
      ON CONFLICT (title) DO UPDATE SET title = excluded.title || '!'
      """)
    try run("INSERT INTO OfflineRoom (projectId, title) VALUES (1, 'Attic') ON CONFLICT DO NOTHING")
    #expect(throws: SQLError.self) { try run("INSERT INTO OfflineRoom (projectId, title) VALUES (1, 'Attic')") }
    #expect(throws: SQLError.self) { try run("INSERT OR FAIL INTO OfflineRoom (projectId, title) VALUES (1, 'Attic')") }
    #expect(
      try value("SELECT group_concat(title) FROM (SELECT title FROM OfflineRoom ORDER BY roomId)", as: String.self)
        == "Kitchen,Hall!,Lobby,Attic")
    #expect(
      try value(
        "SELECT group_concat(operationType || entityId) FROM (SELECT * FROM OfflineSyncQueue ORDER BY queueNumber)",
        as: String.self) == "create4,update3,update2")
  }

  // MARK: The write mode

  @Test(
    "SQL cannot switch the triggers off",
    arguments: [
      "UPDATE WriteContext SET mode = 'purge'", "INSERT OR REPLACE INTO WriteContext (id, mode) VALUES (1, 'sync')",
    ])
  func modeIsNotSetBySQL(_ sql: String) throws {
    let error = #expect(throws: SQLError.self) { try run(SQL(raw: sql)) }
    #expect(error?.message.contains("the write mode cannot be set by SQL") == true)
    try run("DELETE FROM OfflineRoom")
    #expect(try value("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 1", as: Int.self) == 3)
  }

  @Test("The mode of a write ends with it, also when it throws")
  func modeEndsWithItsBody() throws {
    struct Stop: Error {}
    try database.write { db in
      try? WriteMode.purge(on: db) { throw Stop() }
      try WriteMode.sync(on: db) {
        try WriteMode.purge(on: db) {}
        #expect(try db.fetchOne("SELECT char()", as: String.self) == "sync")
      }
      try db.execute("DELETE FROM WriteContext")
      try db.execute("DELETE FROM OfflineRoom")
    }
    #expect(try value("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 1", as: Int.self) == 3)
    #expect(try value("SELECT count(*) FROM OfflineSyncQueue", as: Int.self) == 3)
  }

  @Test("A schema file that sets the write mode does not leave it behind")
  func schemaFileSetsMode() throws {
    let file = MigrationFile(version: 1, name: "mode", sql: "UPDATE WriteContext SET mode = 'purge';")
    try Vault.migrator(for: [RestorationSchema.schema, Schema(name: "own", migrations: [file])]).apply(to: database)
    #expect(try value("SELECT mode FROM WriteContext", as: String.self) == "person")
    try run("DELETE FROM OfflineRoom")
    #expect(try value("SELECT count(*) FROM OfflineRoom WHERE isDeleted = 1", as: Int.self) == 3)
  }

  // MARK: Unusual tables

  private static let unusual = #"""
    CREATE TABLE "Odd ""table""" (
      "key" INTEGER PRIMARY KEY,
      serverId INTEGER,
      uuid TEXT NOT NULL UNIQUE,
      "order" ANY,
      "group by" TEXT,
      record TEXT,
      twice TEXT GENERATED ALWAYS AS ("group by" || "group by") VIRTUAL,
      createdAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      updatedAt TEXT NOT NULL DEFAULT '2026-01-01T00:00:00.000Z',
      lastSyncedAt TEXT,
      syncStatus TEXT NOT NULL DEFAULT 'pending',
      syncVersion INTEGER NOT NULL DEFAULT 0,
      isDirty INTEGER NOT NULL DEFAULT 1,
      isDeleted INTEGER NOT NULL DEFAULT 0,
      UNIQUE ("group by", record)
    ) STRICT;
    CREATE VIRTUAL TABLE "Odd search" USING fts5(twice, content='Odd "table"', content_rowid='key');
    INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Odd', 'Odd "table"', 'odd');
    """#

  @Test("Quoted names, a column named key, values of any type and generated columns are written, found and restored")
  func unusualTable() throws {
    let database = try Database.inMemory()
    let schema = Schema(name: "odd", migrations: [MigrationFile(version: 1, name: "odd", sql: Self.unusual)])
    try Vault.migrator(for: [schema]).apply(to: database)
    let entities = try database.read { try Entities.read(from: $0) }
    let table = try #require(RecordTable(try entities.entity("Odd"), in: entities))
    func texts(_ sql: SQL) throws -> [String] { try database.read { try $0.fetch(sql, as: String.self) } }
    let values: [SQL] = ["x'00ff10'", "1.5", "1e300", "0.1 + 0.2", "7", "'text'", "NULL", "x''"]
    for (index, value) in values.enumerated() {
      let uuid = "01900000-0000-7000-8000-00000000000\(index)"
      try database.write { db in
        try db.execute(
          "INSERT INTO \(identifier: "Odd \"table\"") (uuid, \(identifier: "order"), \(identifier: "group by")) VALUES (\(uuid), \(value), 'a')"
        )
        try markAsSynced("Odd", in: db, entities)
        try db.execute("UPDATE \(identifier: "Odd \"table\"") SET \(identifier: "group by") = 'b' WHERE uuid = \(uuid)")
      }
      let record = try #require(try database.read { try table.find(uuid, in: $0) })
      let base = try #require(try database.read { try BaseTable.find("Odd", record.key, in: $0) })
      #expect(base.fields["order"] == record.state.fields["order"], "\(value.text)")
      #expect(base.fields["group by"] == "a" && record.isDirty)
      let column = try #require(table.columns.first { $0.name == "order" })
      let argument = try column.argument(try #require(record.state.fields["order"]))
      #expect(
        try texts(
          "SELECT uuid FROM \(identifier: "Odd \"table\"") WHERE \(identifier: "order") IS \(argument) AND uuid = \(uuid)"
        ) == [uuid])
      // Back at its base, the record leaves the queue.
      _ = try database.write {
        try $0.execute("UPDATE \(identifier: "Odd \"table\"") SET \(identifier: "group by") = 'a' WHERE uuid = \(uuid)")
      }
      #expect(try texts("SELECT entityUuid FROM OfflineSyncQueue") == [], "\(value.text)")
    }
    #expect(
      try texts("SELECT rowid || '' FROM \(identifier: "Odd search") WHERE twice MATCH 'aa'").count == values.count)
    #expect(try texts("SELECT rowid || '' FROM \(identifier: "Odd search") WHERE twice MATCH 'bb'") == [])
    _ = try database.write { try $0.execute("DELETE FROM \(identifier: "Odd \"table\"")") }
    #expect(try texts("SELECT operationType FROM OfflineSyncQueue").count == values.count)
  }

  @Test("A constraint that replaces rows is refused when the schema is loaded")
  func replacingConstraint() throws {
    let sql = Self.unusual.replacing("uuid TEXT NOT NULL UNIQUE", with: "uuid TEXT NOT NULL UNIQUE ON CONFLICT REPLACE")
    let schema = Schema(name: "odd", migrations: [MigrationFile(version: 1, name: "odd", sql: sql)])
    let error = #expect(throws: SQLError.self) {
      try Vault.migrator(for: [schema]).apply(to: try Database.inMemory())
    }
    #expect(error?.code == .migration)
    #expect(
      error?.message.hasPrefix("odd/0001_odd.sql:1: Odd \"table\" has a constraint with ON CONFLICT REPLACE") == true)
  }
}
