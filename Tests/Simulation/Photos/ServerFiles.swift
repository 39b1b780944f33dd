import CipherSQL
import Glibc
import SQLCipherStorage
import SyncServer
import TestSupport
import VaultStore

/// The files of the server, read from beside it.
struct ServerFiles {
  /// The contents that are complete.
  private(set) var contents: Set<String> = []
  /// Files in its folder that no row knows.
  private(set) var orphans: [String] = []
  /// Complete contents whose file is not there.
  private(set) var missing: [String] = []
  /// The complete contents with the name of each file in the folder of the account, such as `ab/NAME`.
  private(set) var files: [(name: String, content: String)] = []
  /// All contents that rows name.
  private(set) var known: Set<String> = []
  /// The number of uploads that are not finished.
  private(set) var uploads = 0
  /// The folder of the files.
  private(set) var folder = ""

  /// - Parameter data: the server's folder.
  init(_ data: String) throws {
    let accounts = try Files.names(in: data + "/accounts")
    guard let account = accounts.first, accounts.count == 1 else { throw Unexpected("accounts: \(accounts)") }
    let place = "accounts/\(account)"
    guard Files.exists("\(data)/\(place)/files.db") else { return }
    folder = "\(data)/\(place)/files"
    // Listed before the rows are read, because every listed file had its row before.
    let listed = try FolderFiles.names(in: folder)
    let database = try ServerFolder(data, isCreating: false).openDatabase(
      "\(place)/files.db", keyName: "files \(account)", readers: 1)
    defer { database.close() }
    try database.read { connection in
      func places(_ sql: SQL) throws -> Set<String> {
        Set(try connection.fetch(sql, as: String.self).map { "\($0.suffix(2))/\($0)" })
      }
      let named = try places("SELECT file FROM Upload UNION SELECT file FROM Content")
      orphans = listed.subtracting(named).sorted()
      let complete = try places("SELECT file FROM Content")
      missing = complete.subtracting(listed).sorted()
      let rows = try connection.fetchRows(
        "SELECT file, content FROM Content ORDER BY file", as: String.self, String.self)
      files = rows.map { ("\($0.0.suffix(2))/\($0.0)", $0.1) }.filter { listed.contains($0.0) }
      known = Set(rows.map(\.1))
      contents = Set(
        try connection.fetch(
          "SELECT content FROM Content WHERE variant = 'full' AND missingSince IS NULL AND isRefuted = 0",
          as: String.self))
      uploads = try connection.fetchOne("SELECT count(*) FROM Upload WHERE isFinished = 0", as: Int.self) ?? 0
    }
  }

  /// Each complete content has its file.
  func checkContents() throws { try Violation.expectNone("the server lacks the file of a content", missing) }

  /// No file is left over.
  func checkOrphans() throws { try Violation.expectNone("the server has a file that nobody knows", orphans) }

  /// Looks until there is no orphan, for a while: a server that has just come back is still sweeping.
  static func settled(_ data: String) throws -> ServerFiles {
    var files = try ServerFiles(data)
    for _ in 0..<30 where !files.orphans.isEmpty || !files.missing.isEmpty {
      usleep(100_000)
      files = try ServerFiles(data)
    }
    return files
  }
}
