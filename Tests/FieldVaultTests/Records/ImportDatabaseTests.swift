import Foundation
import TestSupport
import Testing

/// `import --from-sqlite` with files that the real shell writes.
@Suite(.serialized, .enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
struct ImportDatabaseTests {
  private let shop: Workshop

  init() throws { shop = try Workshop() }

  /// Tables with plural names, snake case, foreign keys, a self reference to a later row, and more than the vault has.
  static let plain = """
    CREATE TABLE projects (id INTEGER PRIMARY KEY, title TEXT, status TEXT, color TEXT);
    CREATE TABLE room (id INTEGER PRIMARY KEY, project_id INTEGER REFERENCES projects (id), title TEXT, square_footage NUMERIC,
      "is accessible" TEXT);
    CREATE TABLE Location (id INTEGER PRIMARY KEY, project INTEGER REFERENCES projects, parent_location_id INTEGER REFERENCES
      Location, title TEXT);
    CREATE TABLE settings (name TEXT, value TEXT);
    INSERT INTO projects VALUES (1, 'Élan "x"', 'active', 'red'), (2, 'Oak', 'completed', NULL);
    INSERT INTO Location VALUES (1, 1, 2, 'Unit'), (2, 1, NULL, 'House');
    INSERT INTO room VALUES (7, 1, 'Hall', 12, 'true'), (8, 2, '', 1, '0');
    UPDATE room SET title = 'Bath', square_footage = NULL WHERE id = 8;
    """

  @discardableResult
  private func make(_ name: String, _ sql: String) throws -> String {
    try shop.makeDatabase(name, sql)
  }

  private func query(_ sql: String) throws -> [[String: Any]] { try shop.done("query", sql, "--json").rows() }

  private static let rooms =
    "SELECT r.uuid, r.title, r.squareFootage AS f, r.isAccessible AS a, p.title AS project FROM OfflineRoom r JOIN OfflineProject p USING (projectId) WHERE r.title <> 'Attic' ORDER BY r.title"

  @Test(
    "Tables and columns match by name, references lead to the imported records, and a second import changes nothing")
  func plainTables() throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: make("old.db", Self.plain)))
    let plan = try shop.done("import", "--from-sqlite", "@old.db", "--dry-run").output
    for line in [
      "Project from projects, 2 rows:", "fields:  status=status, title=title", "ignored: color",
      "Room from room, 2 rows:", "projectId=project_id", "squareFootage=square_footage", "isAccessible=is accessible",
      "Ignored tables: settings.", "Nothing was imported.",
    ] { #expect(plan.contains(line), "\(line) is not in \(plan)") }
    #expect(try shop.count("OfflineProject") == 1)

    let result = try shop.done("import", "--from-sqlite", "@old.db", "--json").object()
    let entities = try #require(result["entities"] as? [[String: Any]])
    #expect(entities.map { $0["entity"] as? String } == ["Project", "Location", "Room"], "\(entities)")
    #expect(entities.map { $0["imported"] as? Int } == [2, 2, 2])
    #expect(result["ignoredTables"] as? [String] == ["settings"] && result["files"] as? Int == 0)
    let rooms = try query(Self.rooms)
    #expect(rooms.map { $0["project"] as? String } == ["Oak", "Élan \"x\""])
    #expect(
      rooms.map { $0["f"] as? Double } == [0, 12] && rooms.map { $0["a"] as? Bool } == [false, true], "\(rooms)")
    let parents = try query(
      "SELECT p.title FROM OfflineLocation l JOIN OfflineLocation p ON p.locationId = l.parentLocationId")
    #expect(parents.map { $0["title"] as? String } == ["House"])
    let outbox = try shop.done("outbox", "list", "--json").rows().count
    #expect(outbox == 8, "\(outbox)")

    let again = try shop.done("import", "--from-sqlite", "@old.db")
    #expect(again.output.contains("The vault had 6 records already."), "\(again.output)")
    #expect(try query(Self.rooms).map { $0["uuid"] as? String } == rooms.map { $0["uuid"] as? String })
    #expect(try shop.done("outbox", "list", "--json").rows().count == outbox)
    #expect(try shop.run("doctor").status == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: shop.path("old.db"))) == bytes)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: shop.path(".")).filter { $0.hasPrefix("old.db") } == [
        "old.db"
      ])

    // A row that changed in the file does not overwrite the record of the vault.
    try make("old.db", "UPDATE room SET title = 'Foyer' WHERE id = 7;")
    let changed = try shop.run("import", "--from-sqlite", "@old.db")
    #expect(changed.status == 10 && changed.errors.contains("room, row 7"), "\(changed.errors)")
    #expect(changed.errors.contains("with another title"), "\(changed.errors)")
  }

  @Test("The name of the source decides the UUIDs, so that a moved file is found again and two files do not mix")
  func sourceNames() throws {
    let tables = "CREATE TABLE project (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO project VALUES (1, 'Elm');"
    for (name, encoding) in [("a.db", "UTF-8"), ("b.db", "UTF-16")] {
      try make(name, "PRAGMA encoding = '\(encoding)'; \(tables)")
    }
    for (name, count) in [("a.db", 2), ("b.db", 3)] {
      try shop.done("import", "--from-sqlite", "@" + name, "-q")
      #expect(try shop.count("OfflineProject") == count)
    }
    try shop.done("import", "--from-sqlite", "@b.db", "--source", shop.path("a.db"), "-q")
    #expect(try shop.count("OfflineProject") == 3)
  }

  @Test("A Core Data store: UUIDs of 16 bytes, times since 2001, relations, inheritance and internal tables")
  func coreData() throws {
    try make(
      "store.sqlite",
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
      CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
      CREATE TABLE ZPLACE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPROJECT INTEGER, ZISACCESSIBLE INTEGER,
        ZSQUAREFOOTAGE FLOAT, ZTITLE VARCHAR, ZID BLOB, ZSECRET BLOB);
      CREATE TABLE ZPROJECT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATEDAT TIMESTAMP, ZTITLE VARCHAR);
      CREATE TABLE ZATMOSPHERICLOG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZINLET INTEGER, ZPROJECT INTEGER,
        ZROOM INTEGER, Z4_ROOM INTEGER, ZDATE TIMESTAMP, ZRELATIVEHUMIDITY FLOAT, ZTEMPERATURE FLOAT);
      INSERT INTO Z_METADATA VALUES (1, '0E4B9C2A-1111-4222-8333-444455556666', NULL);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'AtmosphericLog', 0, 2), (2, 'Place', 0, 2), (3, 'Project', 0, 1), (4, 'Room', 2, 0),
        (5, 'Garden', 2, 0);
      INSERT INTO ZPROJECT VALUES (1, 3, 1, 700000000.123, 'Elm');
      INSERT INTO ZPLACE VALUES (1, 4, 1, 1, 1, 20.5, 'Hall', x'0193D0A45F2E7C319D0B6A1B2C3D4E5F', NULL),
        (2, 5, 1, 1, NULL, NULL, 'Roses', x'0193D0A45F2E7C319D0B6A1B2C3D4E60', NULL);
      INSERT INTO ZATMOSPHERICLOG VALUES (1, 1, 1, 2, 1, 1, 4, 0.0, 50.5, 70.0), (2, 1, 1, NULL, 1, NULL, NULL, 86400.5, 40.0, 71);
      """)
    let plan = try shop.done("import", "--from-sqlite", "@store.sqlite").output
    #expect(plan.contains("is a Core Data store") && plan.contains("source name 0E4B9C2A"), "\(plan)")
    #expect(plan.contains("Room from Room, 1 row:") && plan.contains("ignored: ZSECRET"), "\(plan)")
    #expect(plan.contains("Ignored tables: Place, Garden."), "\(plan)")
    let logs = try query(
      """
      SELECT log.date, room.uuid AS room, room.isAccessible AS a, project.createdAt AS created, inlet.date AS inlet
      FROM OfflineAtmosphericLog log JOIN OfflineProject project ON project.projectId = log.projectId
      LEFT JOIN OfflineRoom room ON room.roomId = log.roomId LEFT JOIN OfflineAtmosphericLog inlet ON inlet.logId = log.inletId
      ORDER BY log.date
      """)
    #expect(logs.map { $0["date"] as? String } == ["2001-01-01T00:00:00.000Z", "2001-01-02T00:00:00.500Z"])
    #expect(
      logs.first?["room"] as? String == "0193d0a4-5f2e-7c31-9d0b-6a1b2c3d4e5f" && logs.first?["a"] as? Bool == true)
    #expect(logs.first?["inlet"] as? String == "2001-01-02T00:00:00.500Z")
    #expect(logs.first?["created"] as? String == "2023-03-08T20:26:40.123Z")
    let again = try shop.done("import", "--from-sqlite", "@store.sqlite")
    #expect(again.output.contains("The vault had 4 records already."), "\(again.output)")
  }

  @Test("A GRDB database: texts of times in UTC, UUIDs as keys, and rows that are marked as deleted")
  func grdb() throws {
    try make(
      "grdb.sqlite",
      """
      CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE project (id BLOB PRIMARY KEY, title TEXT NOT NULL, createdAt DATETIME, isDeleted BOOLEAN DEFAULT 0, serverId INTEGER);
      CREATE TABLE "offlineAtmosphericLog" (uuid TEXT PRIMARY KEY, projectId BLOB REFERENCES project ON DELETE CASCADE, date DATETIME,
        relativeHumidity DOUBLE, temperature DOUBLE);
      INSERT INTO project VALUES (x'0193D0A45F2E7C319D0B6A1B2C3D4E5F', 'Elm', '2024-02-29 23:59:59.999', 0, 5),
        (x'0193D0A45F2E7C319D0B6A1B2C3D4E60', 'gone', '2024-02-29', 1, 6);
      INSERT INTO offlineAtmosphericLog VALUES ('0193D0A4-5F2E-7C31-9D0B-6A1B2C3D4E61', x'0193D0A45F2E7C319D0B6A1B2C3D4E5F',
        '2024-03-01 00:00', 50, 70);
      """)
    let ran = try shop.done("import", "--from-sqlite", "@grdb.sqlite")
    #expect(ran.output.contains("is a GRDB database") && !ran.output.contains("grdb_migrations"), "\(ran.output)")
    #expect(ran.output.contains("Left out 1 record that the file marks as deleted."), "\(ran.output)")
    #expect(ran.output.contains("ignored: serverId"), "\(ran.output)")
    let logs = try query(
      "SELECT l.uuid, l.date, p.uuid AS project, p.createdAt AS created FROM OfflineAtmosphericLog l JOIN OfflineProject p USING (projectId)"
    )
    #expect(logs.count == 1 && logs[0]["uuid"] as? String == "0193d0a4-5f2e-7c31-9d0b-6a1b2c3d4e61", "\(logs)")
    #expect(logs[0]["project"] as? String == "0193d0a4-5f2e-7c31-9d0b-6a1b2c3d4e5f")
    #expect(logs[0]["date"] as? String == "2024-03-01T00:00:00.000Z")
    #expect(logs[0]["created"] as? String == "2024-02-29T23:59:59.999Z")
  }

  @Test(
    "Options choose tables, columns, values, missing values and the meaning of numbers; one entity is imported alone")
  func options() throws {
    try make(
      "old.db",
      """
      CREATE TABLE areas (nr TEXT PRIMARY KEY, label TEXT, "made, at" INTEGER, level TEXT);
      CREATE TABLE rooms (id INTEGER PRIMARY KEY, title TEXT);
      INSERT INTO areas VALUES ('a', 'Hall', 0, 'n/a'), ('b', 'Bath', 1700000000, '2');
      """)
    let words = [
      "import", "Room", "--from-sqlite", "@old.db", "--table", "areas", "--map", "title=label", "--map",
      "createdAt=madeat", "--set", "projectId=\(Workshop.project)", "--null", "n/a", "--times", "unix",
    ]
    let unknown = try shop.run(words)
    #expect(
      unknown.status == 4 && unknown.errors.contains("the table areas has no column 'madeat'"), "\(unknown.errors)")
    try make("old.db", "ALTER TABLE areas RENAME COLUMN \"made, at\" TO made_at;")
    let ran = try shop.run(words)
    #expect(ran.status == 0 && ran.output.contains("Imported 2 Room records."), "\(ran.errors)")
    let rooms = try query(
      "SELECT title, level, createdAt AS c FROM OfflineRoom WHERE title <> 'Attic' ORDER BY title DESC")
    #expect(rooms.map { $0["c"] as? String } == ["1970-01-01T00:00:00.000Z", "2023-11-14T22:13:20.000Z"])
    #expect(rooms[0]["level"] is NSNull && rooms[1]["level"] as? String == "2")
    let whole = try shop.run([
      "import", "--from-sqlite", "@old.db", "--table", "Room=areas", "--map", "Room.title=label", "--set",
      "Room.projectId=\(Workshop.project)", "--null", "n/a",
    ])
    #expect(whole.status == 0 && whole.output.contains("The vault had 2 records already."), "\(whole.errors)")
  }

  @Test("An invalid value names table, row, column and a valid example, and nothing is imported")
  func invalidValues() throws {
    try make(
      "old.db",
      """
      CREATE TABLE project (id INTEGER PRIMARY KEY, title TEXT, status TEXT, created_at);
      CREATE TABLE room (id INTEGER PRIMARY KEY, project_id INTEGER, title TEXT, square_footage, is_accessible, level BLOB);
      INSERT INTO project VALUES (1, 'Elm', 'active', '2024-01-01');
      INSERT INTO room VALUES (1, 1, 'ok', 1, 1, 'x'), (2, 9, 'dangling', 1, 1, 'x'), (3, 1, 'secret-value', 'wide', 1, 'x'),
        (4, 1, 'b', 1, 'maybe', 'x'), (5, 1, 'c', 1, 1, x'00'), (6, 1, NULL, 1, 1, 'x'), (7, 1, 'd', -1, 1, 'x'),
        (8, NULL, 'e', 1, 1, 'x');
      """)
    let before = try shop.database()
    let ran = try shop.run("import", "--from-sqlite", "@old.db")
    #expect(ran.status == 10)
    for text in [
      "nothing was imported: 7 values are invalid", "room, row 2, column project_id: projectId references the Project",
      "room, row 3, column square_footage: squareFootage is not a number (the row has a TEXT of 4 characters)",
      "room, row 4, column is_accessible: isAccessible is not true, false, 1 or 0",
      "room, row 5, column level: level is a BLOB, but a text was expected",
      "room, row 6, column title: title is missing",
      "room, row 7, column square_footage: squareFootage breaks the rule squareFootage >= 0",
      "room, row 8, column project_id: projectId is missing",
    ] { #expect(ran.errors.contains(text), "\(text) is not in \(ran.errors)") }
    #expect(!ran.errors.contains("wide") && !ran.errors.contains("secret-value"))
    #expect(try shop.database() == before)

    try make("old.db", "DELETE FROM room; UPDATE project SET created_at = 700000000;")
    let number = try shop.run("import", "--from-sqlite", "@old.db", "--json")
    #expect(number.status == 10 && number.errors.contains("--times unix|milliseconds|apple|julian"), "\(number.errors)")
    let problems = try #require(try number.object()["errors"] as? [[String: Any]])
    #expect(problems.map { $0["row"] as? String } == ["1"] && problems[0]["column"] as? String == "created_at")
    try shop.done("import", "--from-sqlite", "@old.db", "--times", "apple", "-q")
    #expect(
      try query("SELECT createdAt AS c FROM OfflineProject WHERE title = 'Elm'")[0]["c"] as? String
        == "2023-03-08T20:26:40.000Z")
  }

  @Test("Hostile names, and a schema whose views, triggers and columns would act, do nothing")
  func hostileSchema() throws {
    try make(
      "old.db",
      #"""
      CREATE TABLE "project" ("select" INTEGER, "ti""tle; DROP TABLE x;--" TEXT, "new
      line" TEXT, "é" TEXT, "e\#u{301}" TEXT, title TEXT, status TEXT AS (CASE WHEN title = 'y' THEN 'active' END));
      INSERT INTO project ("select", "é", "e\#u{301}", title) VALUES (1, 'a', 'b', 'y');
      CREATE TABLE "Robert'); DROP TABLE project;--" (a);
      CREATE VIEW room AS SELECT load_extension('/tmp/x.so') AS title, 1 AS project_id;
      CREATE TRIGGER t AFTER INSERT ON project BEGIN SELECT load_extension('x'); DELETE FROM project; END;
      CREATE VIRTUAL TABLE notes USING fts5(title);
      INSERT INTO notes VALUES ('x');
      """#)
    let ran = try shop.done("import", "--from-sqlite", "@old.db", "--map", "Project.projectNumber=e\u{301}")
    #expect(ran.output.contains("Project from project, 1 row:") && !ran.output.contains("notes_"), "\(ran.output)")
    #expect(ran.output.contains(#"new\x0Aline"#) || ran.output.contains(#"new\nline"#), "\(ran.output)")
    let project = try query("SELECT projectNumber AS n, status FROM OfflineProject WHERE title = 'y'")
    #expect(project.count == 1 && project[0]["n"] as? String == "b" && project[0]["status"] as? String == "active")
    #expect(try shop.count("OfflineRoom") == 1)
  }

  @Test(
    "The memory of an import does not grow with the rows of the database",
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
  func memory() throws {
    try make(
      "big.db",
      """
      CREATE TABLE location (id INTEGER PRIMARY KEY, project_id TEXT, title TEXT);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO location SELECT i, '\(Workshop.project)', printf('%04000d', i) FROM n;
      """)
    let ran = try shop.run(
      ["import", "--from-sqlite", "@big.db"], environment: ["FIELDVAULT_PAGE_CACHE": "8"], watchingMemory: true)
    #expect(ran.status == 0 && ran.output.contains("Imported 12,000 Location records."), "\(ran.errors)")
    #expect(ran.peakMemory > 1 << 20 && ran.peakMemory < 84 << 20, "\(ran.peakMemory >> 20) MiB")
  }
}

extension Workshop {
  /// Runs SQL in the real shell on an unencrypted file of the test, and returns its path.
  @discardableResult
  func makeDatabase(_ name: String, _ sql: String) throws -> String {
    guard let shell = tool("sqlcipher") else { throw Unexpected("sqlcipher is not installed") }
    let ran = try FieldVaultTests.run(shell, ["-bail", path(name)], input: sql + "\n")
    guard ran.status == 0, ran.errors.isEmpty else { throw Unexpected("the shell failed: \(ran.errors)") }
    return path(name)
  }
}
