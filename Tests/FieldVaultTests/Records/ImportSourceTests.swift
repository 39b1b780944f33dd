import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// `import --from-sqlite`: files that are no usable databases, and files that another program has open or has left behind.
@Suite(.serialized, .enabled(if: tool("sqlcipher") != nil, "sqlcipher is not installed"))
struct ImportSourceTests {
  private static let table =
    "CREATE TABLE project (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO project VALUES (1, 'Elm');"

  private let shop: Workshop

  init() throws { shop = try Workshop() }

  /// The files beside a database and their bytes.
  private func files(_ name: String) throws -> [String: Data] {
    let folder = shop.path(".")
    var found: [String: Data] = [:]
    for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasPrefix(name) {
      found[file] = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + file))
    }
    return found
  }

  private func refused(_ words: [String], _ status: Int32, _ texts: String...) throws {
    let before = try shop.database()
    let ran = try shop.run(["import", "--from-sqlite"] + words)
    #expect(ran.status == status, "\(words): \(ran.errors)")
    for text in texts { #expect(ran.errors.contains(text), "\(text) is not in \(ran.errors)") }
    #expect(try shop.database() == before)
  }

  @Test("A file that is no readable database, or has no matching table, is refused with its reason")
  func unusableFiles() throws {
    try shop.makeDatabase("secret.db", "PRAGMA key = 'x'; \(Self.table)")
    try shop.makeDatabase("other.db", "CREATE TABLE projekts (title TEXT);")
    try shop.makeDatabase(
      "twins.db", "CREATE TABLE rooms (title TEXT); CREATE TABLE Rooms_ (title TEXT); CREATE TABLE r_ooms (a);")
    try shop.makeDatabase("none.db", "CREATE TABLE x (a); DROP TABLE x;")
    try shop.write("", to: "empty.db")
    try shop.write("title\nElm\n", to: "text.csv")
    mkfifo(shop.path("pipe"), 0o600)
    try refused(["@nowhere.db"], 1, "cannot read", "No such file")
    try refused(["@home"], 1, "it is a folder")
    try refused(["@pipe"], 1, "it is not a regular file")
    try refused(["@empty.db"], 1, "empty.db is empty")
    try refused(["@text.csv"], 1, "text.csv is not an SQLite database, or it is encrypted")
    try refused(["@secret.db"], 1, "or it is encrypted", "sqlcipher_export")
    try refused(["@v.vault/db/0001/vault.db"], 1, "or it is encrypted")
    try refused(["@none.db"], 4, "none.db has no table")
    try refused(["@other.db"], 4, "no table of", "matches an entity of this vault", "--table", "projekts")
    try refused(["@other.db", "--table", "Project=projekt"], 4, "has no table 'projekt'", "did you mean 'projekts'?")
    try refused(["@other.db", "--table", "Projekt=projekts"], 4, "unknown entity 'Projekt'", "did you mean 'Project'?")
    try refused(
      ["@other.db", "--table", "Project=projekts", "--map", "Project.titel=title"], 4, "did you mean 'title'?")
    try refused(
      ["@other.db", "--table", "Project=projekts", "--map", "Project.title=titel"], 4, "did you mean 'title'?")
    try refused(["@twins.db"], 10, "both match Room", "--table Room=TABLE")
    for words in [
      ["@other.db", "--skip-invalid"], ["@other.db", "--format", "csv"], ["@other.db", "--set", "title=x"],
      ["@other.db", "--table", "x"], ["@other.db", "--times", "x"], ["@other.db", "--all", "@home"],
    ] { try refused(words, 2) }
    for words in [
      ["import", "Room", "@text.csv", "--dry-run"], ["import", "Room", "@text.csv", "--from-sqlite", "@other.db"],
    ] { #expect(try shop.run(words).status == 2, "\(words)") }
  }

  @Test("A damaged file is reported as damaged, and nothing is imported") func damagedFile() throws {
    let path = try shop.makeDatabase(
      "old.db",
      """
      \(Self.table)
      WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO project SELECT i, hex(zeroblob(99)) FROM n;
      """)
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let middle = bytes.count / 2 / 4096 * 4096
    for place in middle..<middle + 4096 { bytes[place] = 0xa5 }
    try shop.write(bytes, to: "old.db")
    try refused(["@old.db"], 5, "old.db is damaged", ".recover")
    try shop.write(Array(bytes.prefix(4096)), to: "old.db")
    try refused(["@old.db"], 5, "old.db is damaged")
  }

  @Test("A log of a running, a killed and a missing program counts, and no byte of any file changes") func logs() throws
  {
    let name = "live.db"
    let writer = try ShellProcess(on: shop.path(name))
    try writer.run("PRAGMA journal_mode = WAL; \(Self.table)")
    try blockUntil("the shell has written") { (try? files(name)[name + "-wal"]?.count) ?? 0 > 4096 }
    try blockUntil("the shell is idle") {
      try files(name) == files(name) && FileManager.default.fileExists(atPath: shop.path(name + "-shm"))
    }
    let before = try files(name)
    try shop.done("import", "--from-sqlite", "@live.db", "-q")
    #expect(try files(name) == before && before.count == 3)
    #expect(try shop.count("OfflineProject") == 2)

    try writer.end()
    let killed = try files(name)
    let again = try shop.done("import", "--from-sqlite", "@live.db")
    #expect(again.output.contains("The vault had 1 record already."), "\(again.output)")
    #expect(try files(name) == killed && killed.count == 3)

    // A copy without the index of the log.
    for part in ["", "-wal"] { try shop.write([UInt8](killed[name + part] ?? Data()), to: "copy.db" + part) }
    let copied = try files("copy.db")
    try shop.done("import", "--from-sqlite", "@copy.db", "-q")
    #expect(try files("copy.db") == copied && shop.count("OfflineProject") == 3)

    // Without the log, the copy has no committed table.
    try FileManager.default.removeItem(atPath: shop.path("copy.db-wal"))
    let bare = try files("copy.db")
    try refused(["@copy.db"], killed[name]?.isEmpty == true ? 1 : 4)
    #expect(try files("copy.db") == bare)
  }

  @Test("A file in WAL mode whose log was merged gets no log and no index") func mergedLog() throws {
    try shop.makeDatabase("old.db", "PRAGMA journal_mode = WAL; \(Self.table)")
    let before = try files("old.db")
    #expect(before.count == 1)
    try shop.done("import", "--from-sqlite", "@old.db", "-q")
    #expect(try files("old.db") == before && shop.count("OfflineProject") == 2)
  }

  @Test("An interrupted transaction is not undone, and a writing program is waited for") func rollbackJournal() throws {
    try shop.makeDatabase("old.db", Self.table)
    let size = try files("old.db")["old.db"]?.count ?? 0
    let writer = try ShellProcess(on: shop.path("old.db"))
    try writer.run(
      """
      PRAGMA cache_size = 5; BEGIN IMMEDIATE;
      WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO project SELECT i, hex(zeroblob(99)) FROM n;
      """)
    try blockUntil("pages are written before the commit") { try files("old.db")["old.db"]?.count ?? 0 > size }
    try blockUntil("the shell is idle") { try files("old.db") == files("old.db") }
    try refused(["@old.db"], 6, "another program is writing to")
    try writer.end()
    let before = try files("old.db")
    #expect(before.count == 2)
    try refused(["@old.db"], 1, "the last transaction in", "was interrupted")
    #expect(try files("old.db") == before)
  }
}

/// The real shell on a file, which stays open until it is killed.
private final class ShellProcess {
  private let running: Running
  private let input: Int32

  init(on path: String) throws {
    guard let shell = tool("sqlcipher") else { throw Unexpected("sqlcipher is not installed") }
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Unexpected("no pipe") }
    _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
    input = ends[1]
    running = try Running(shell, [path], environment: [:], input: ends[0])
    close(ends[0])
  }

  deinit { close(input) }

  func run(_ sql: String) throws {
    let bytes = Array((sql + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else { throw Unexpected("the shell has ended") }
  }

  /// Kills the shell, which closes no file.
  func end() throws {
    kill(running.process, SIGKILL)
    _ = try running.wait()
  }
}
