import CipherSQL
import Platform
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import PostgresStorage

/// The views of the records in PostgreSQL for reports.
@Suite struct ReportViewsTests {
  private static let account = StorageConformance.accounts[0]

  private static func file(_ version: Int, _ sql: String) -> MigrationFile {
    MigrationFile(version: version, name: "things", sql: sql)
  }

  private static let first = file(
    1,
    SyncedTable.sql("Place", "title TEXT", schema: "things")
      + SyncedTable.sql(
        "Thing",
        """
        placeId INTEGER REFERENCES Place (id), title TEXT, count INTEGER, weight REAL, picture BLOB,
        isWet INTEGER CHECK (isWet IN (0, 1)), seenAt TEXT CHECK (seenAt IS strftime('%Y-%m-%dT%H:%M:%fZ', seenAt)),
        day TEXT CHECK (day IS date(day)), facts TEXT CHECK (json_valid(facts)), "it's" TEXT
        """, schema: "things"))

  private static func schema(_ files: MigrationFile...) -> Schema { Schema(name: "things", migrations: files) }

  private let server: PostgresServer
  private let settings: PostgresSettings
  private let database: String

  init() throws {
    server = try SharedPostgres.server
    database = try server.makeDatabase()
    settings = PostgresSettings(url: server.url(database))
  }

  /// Returns a storage whose views are up to date.
  private func node(_ schema: Schema, log: @escaping @Sendable (String) -> Void = { _ in }) async throws
    -> PostgresStorage
  {
    let storage = try PostgresStorage(PostgresDatabase(settings), schemas: [schema], log: log)
    try await storage.viewsAreCreated()
    return storage
  }

  private func sql(_ text: String) throws -> String { try server.sql(text, database: database) }

  @Test("a role that may only read the views sees typed values, and values that PostgreSQL lacks harm no other")
  func values() async throws {
    let storage = try makeStorage(settings, schemas: [Self.schema(Self.first)])
    defer { storage.close() }
    try await storage.viewsAreCreated()
    let (place, thing, odd) = (
      RecordName("Place", newUuid()), RecordName("Thing", newUuid()), RecordName("Thing", newUuid())
    )
    let time = 1_767_225_600_123 as Int64
    try await storage.write(Self.account) { data in
      func store(_ name: RecordName, _ fields: SyncObject) throws {
        _ = try data.store(name, over: nil, RecordState(fields: fields, updatedAt: time), createdAt: time, at: time)
      }
      try store(place, ["title": "Hall"])
      try store(
        thing,
        [
          "placeId": .text(place.entityUuid), "title": "pump", "count": .integer(.max),
          "weight": .real(try #require(FiniteReal(12.5))), "picture": .text("AP8="), "isWet": .bool(true),
          "seenAt": "2026-01-02T03:04:05.678Z", "day": "2026-01-02", "facts": .object(["a": .array([.integer(1)])]),
          "it's": #"back\slash"#,
        ])
      try store(odd, ["title": "nul \0\0 and \\\\u0000", "it's": "\0"])
    }
    _ = try sql(
      """
      DROP ROLE IF EXISTS office; CREATE ROLE office;
      GRANT USAGE ON SCHEMA fieldvault_report TO office; GRANT SELECT ON ALL TABLES IN SCHEMA fieldvault_report TO office
      """)
    func office(_ query: String) throws -> String { try sql("SET ROLE office; SET TIME ZONE 'UTC'; " + query) }
    let row = try office(
      """
      SELECT thing.fieldvault_account, place.title, thing.title, count, weight, picture, "isWet", "seenAt", day, facts, "it's",
        thing."createdAt", thing."isDeleted", thing."syncVersion", pg_typeof("seenAt"), pg_typeof(picture)
      FROM fieldvault_report."Thing" AS thing JOIN fieldvault_report."Place" AS place ON place.id = "placeId"
      """)
    #expect(
      row.contains(
        #"one|Hall|pump|9223372036854775807|12.5|\x00ff|t|2026-01-02 03:04:05.678+00|2026-01-02|{"a": [1]}|back\slash|"#
          + "2026-01-01 00:00:00.123+00|f|1|timestamp with time zone|bytea"), "\(row)")
    let texts = try office(
      #"SELECT title, "it's", count IS NULL FROM fieldvault_report."Thing" WHERE uuid = '\#(odd.entityUuid)'"#)
    #expect(texts.contains("nul \u{FFFD}\u{FFFD} and \\\\u0000|\u{FFFD}|t"), "\(texts)")
    #expect(throws: (any Error).self) { try office("SELECT count(*) FROM fieldvault.record") }
    #expect(throws: (any Error).self) { try office(#"DELETE FROM fieldvault_report."Thing""#) }
  }

  @Test(
    "new files change the views, which keep their rights; older nodes and views of the operator leave them as they are")
  func changes() async throws {
    let second = Self.file(2, "ALTER TABLE Thing ADD COLUMN note TEXT")
    let third = Self.file(
      3, "ALTER TABLE Place RENAME COLUMN title TO name; ALTER TABLE Thing RENAME COLUMN title TO name")
    let old = try await node(Self.schema(Self.first))
    defer { old.close() }
    func columns(_ view: String) throws -> Set<String> {
      let names = try sql(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'fieldvault_report' AND table_name = '\(view)'"
      )
      return Set(names.split(separator: "\n").map(String.init))
    }
    #expect(try columns("Thing").isSuperset(of: ["title", "fieldvault_account", "it's"]))
    #expect(try !columns("Thing").contains("note"))
    _ = try sql(
      #"DROP ROLE IF EXISTS clerk; CREATE ROLE clerk; GRANT SELECT ON fieldvault_report."Thing" TO clerk"#)
    let new = try await node(Self.schema(Self.first, second))
    defer { new.close() }
    #expect(try columns("Thing").contains("note"))
    let right = #"SELECT has_table_privilege('clerk', 'fieldvault_report."Thing"', 'SELECT')"#
    #expect(try sql(right).contains("t"))
    let older = try await node(Self.schema(Self.first))
    defer { older.close() }
    #expect(try columns("Thing").contains("note"))
    _ = try sql(#"CREATE VIEW places AS SELECT title FROM fieldvault_report."Place""#)
    let problems = Locked<[String]>([])
    let newest = try await node(
      Self.schema(Self.first, second, third), log: { text in problems.withLock { $0.append(text) } })
    defer { newest.close() }
    #expect(try columns("Thing").contains("name") && !columns("Thing").contains("title"))
    #expect(try columns("Place").contains("title"))
    let told = problems.withLock { $0 }
    #expect(
      told.count == 1 && told.first?.hasPrefix("the view fieldvault_report.Place cannot be replaced") == true, "\(told)"
    )
  }

  @Test("a report about one record reads few pages of many")
  func cost() async throws {
    let storage = try makeStorage(settings, schemas: [Self.schema(Self.first)])
    defer { storage.close() }
    try await storage.viewsAreCreated()
    _ = try sql(
      """
      INSERT INTO fieldvault.record (account_id, sequence, entity_type, entity_uuid, server_id, version, first_version,
        is_deleted, is_cascaded, digest, created_at, updated_at, stored_at, fields, user_edited_fields, edit_times,
        field_versions, start_versions, service_fields, keys)
      SELECT account_id, n, 'Thing', n::text, n, 1, 1, false, false, '', 0, 0, 0, '{"title":"pump"}', '[]', '{}', '{}', '{}', '[]', '{}'
      FROM fieldvault.account, generate_series(1, 20000) AS n WHERE name = 'one';
      ANALYZE fieldvault.record, fieldvault.account
      """)
    let plan = try sql(
      #"""
      EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF)
      SELECT * FROM fieldvault_report."Thing" WHERE fieldvault_account = 'one' AND uuid = '77'
      """#)
    let pages = plan.firstMatch(of: /shared hit=(\d+)/).flatMap { Int($0.1) }
    #expect(try #require(pages) < 200, "\(plan)")
  }
}
