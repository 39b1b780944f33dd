import Foundation
import Platform
import ServerStorage
import ServerSupport
import TestSupport
import Testing

@testable import PostgresStorage

/// Databases that a node cannot use. Each error names the cause, and the database stays as it was.
@Suite(.serialized) struct BadDatabaseTests {
  private let server: PostgresServer

  init() throws { server = try SharedPostgres.server }

  /// Returns the error of a node that starts on a database.
  private func failure(_ url: String) throws -> ServerError {
    let error = #expect(throws: ServerError.self) { try PostgresDatabase(PostgresSettings(url: url)) }
    let found = try #require(error)
    #expect(found.code == .badDatabase, "\(found)")
    return found
  }

  private func tables(in database: String) throws -> String {
    try server.sql(
      "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'fieldvault'", database: database)
  }

  @Test("a role without rights")
  func rights() throws {
    let (database, role) = (try server.makeDatabase(), "r" + newUuid().replacing("-", with: ""))
    try server.sql("CREATE ROLE \(role) LOGIN")
    let error = try failure("host=\(server.folder) user=\(role) dbname=\(database)")
    #expect("\(error)".contains("the role lacks a right") && "\(error)".contains("permission denied"), "\(error)")
    #expect(try tables(in: database) == "0")
    // A role that may create the schema and not write what is there.
    try PostgresDatabase(PostgresSettings(url: server.url(database))).close()
    try server.sql("GRANT USAGE ON SCHEMA fieldvault TO \(role)", database: database)
    #expect(
      "\(try failure("host=\(server.folder) user=\(role) dbname=\(database)"))".contains("the role lacks a right"))
  }

  @Test("another encoding")
  func encoding() throws {
    let name = "t" + newUuid().replacing("-", with: "")
    try server.sql("CREATE DATABASE \(name) ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    let error = try failure(server.url(name))
    #expect("\(error)".contains("LATIN1") && error.hint?.contains("UTF8") == true, "\(error)")
    #expect(try tables(in: name) == "0")
  }

  @Test("tables of a newer program")
  func newerTables() throws {
    let database = try server.makeDatabase()
    try PostgresDatabase(PostgresSettings(url: server.url(database))).close()
    let before = try tables(in: database)
    try server.sql("INSERT INTO fieldvault.migration VALUES (99, 'later', 0)", database: database)
    let error = try failure(server.url(database))
    #expect("\(error)".contains("version 99") && error.hint?.contains("newer program") == true, "\(error)")
    #expect(try tables(in: database) == before)
  }

  @Test("a migration that fails leaves nothing, and the next attempt applies it")
  func failedMigration() throws {
    let (database, trap) = (try server.makeDatabase(), "r" + newUuid().replacing("-", with: ""))
    // The database refuses one of the tables in the middle.
    try server.sql(
      """
      CREATE FUNCTION \(trap)() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'fieldvault.job') THEN
          RAISE EXCEPTION 'no room for jobs';
        END IF;
      END $$;
      CREATE EVENT TRIGGER \(trap) ON ddl_command_end EXECUTE FUNCTION \(trap)();
      """, database: database)
    #expect("\(try failure(server.url(database)))".contains("no room for jobs"))
    #expect(try tables(in: database) == "0")
    try server.sql("DROP EVENT TRIGGER \(trap)", database: database)
    try PostgresDatabase(PostgresSettings(url: server.url(database))).close()
    #expect(try tables(in: database) != "0")
  }

  @Test(
    "wrong addresses",
    arguments: ["host=/nowhere dbname=x", "host=127.0.0.1 port=1 dbname=x", "postgresql://[", "hots=x"])
  func address(_ url: String) throws {
    let error = try failure(url)
    #expect("\(error)".contains("the database cannot be used") && error.hint?.contains("postgresql://") == true)
  }

  @Test("an unknown database, and a wrong password, which is not repeated")
  func password() throws {
    #expect("\(try failure(server.url("nothing")))".contains("does not exist"))
    let role = "r" + newUuid().replacing("-", with: "")
    try server.sql("CREATE ROLE \(role) LOGIN PASSWORD 'right'")
    let rules = server.folder + "/data/pg_hba.conf"
    let text = try String(contentsOfFile: rules, encoding: .utf8)
    try "local all \(role) scram-sha-256\n\(text)".write(toFile: rules, atomically: false, encoding: .utf8)
    try server.sql("SELECT pg_reload_conf()")
    let database = try server.makeDatabase()
    // The server reads its rules soon.
    var error: ServerError?
    for _ in 0..<100 where error?.description.contains("password") != true {
      error = try failure("host=\(server.folder) user=\(role) password=very-wrong dbname=\(database)")
      usleep(20_000)
    }
    let description = "\(try #require(error))"
    #expect(
      description.contains("password authentication failed") && !description.contains("very-wrong"), "\(description)")
  }
}
