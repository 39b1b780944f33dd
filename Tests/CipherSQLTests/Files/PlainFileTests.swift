import Foundation
import TestSupport
import Testing

@testable import CipherSQL

/// A file without encryption can be read, and in no other way be opened.
@Suite(.enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
struct PlainFileTests {
  private let folder: TemporaryFolder
  private let path: String

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("it's 100% #plain?.db")
    try run(
      """
      CREATE TABLE a (x); INSERT INTO a VALUES (1); CREATE VIEW v AS SELECT * FROM a;
      CREATE TABLE big (n INTEGER, t AS (hex(zeroblob(n)))); INSERT INTO big VALUES (100), (100000000);
      """)
  }

  /// Runs SQL in the real shell on the file.
  private func run(_ sql: String) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: try #require(tool("sqlcipher")))
    shell.arguments = [path, sql]
    shell.standardOutput = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
  }

  private func code(_ sql: String) -> SQLError.Code? {
    do {
      try PlainFile(path: path).read { connection in _ = try connection.fetchOne(SQL(raw: sql), as: SQLArgument.self) }
      return nil
    } catch {
      return (error as? SQLError)?.code
    }
  }

  @Test("Statements read tables, but neither write, nor use views, nor change settings, nor load code")
  func readingOnly() {
    #expect(code("SELECT x FROM a") == nil)
    for sql in ["INSERT INTO a VALUES (2)", "DELETE FROM a", "DROP TABLE a", "CREATE TABLE b (x)"] {
      #expect([.readOnly, .notAllowed].contains(code(sql)), "\(sql)")
    }
    #expect(code("SELECT x FROM v") != nil)
    for sql in [
      "PRAGMA query_only = OFF", "PRAGMA writable_schema = ON", "ATTACH 'x' AS y", "SELECT load_extension('x')",
    ] {
      #expect(code(sql) == .notAllowed, "\(sql)")
    }
  }

  @Test("A generated column cannot take unlimited memory") func largeValues() {
    #expect(code("SELECT length(t) FROM big WHERE n = 100") == nil)
    #expect(code("SELECT length(t) FROM big WHERE n > 100") == .tooBig)
  }

  @Test("A write of another program to a file that is read without locks is noticed") func changes() throws {
    try run("PRAGMA journal_mode = WAL;")
    let file = try PlainFile(path: path)
    try file.checkUnchanged()
    try run("INSERT INTO a VALUES (2);")
    do {
      try file.checkUnchanged()
      Issue.record("the change was not noticed")
    } catch let error as SQLError {
      #expect(error.code == .busy)
    }
  }

  @Test("No connection opens a file without a key, and none opens an encrypted file as a plain one") func noOtherWay()
    throws
  {
    #expect(throws: SQLError.self) { _ = try Connection(path: path, key: nil, configuration: Configuration()) }
    #expect(throws: SQLError.self) { _ = try WriteConnection(path: path, key: nil, configuration: Configuration()) }
    let key = PlainKey.random()
    _ = try Database(path: folder.file("secret.db"), key: key).write { try $0.execute("CREATE TABLE a (x)") }
    do {
      _ = try PlainFile(path: folder.file("secret.db"))
      Issue.record("an encrypted file was opened")
    } catch let error as SQLError {
      #expect(error.code == .notADatabase)
    }
  }
}
