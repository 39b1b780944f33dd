import CipherSQL
import Foundation
import SQLCipherStorage
import SyncServer
import TestSupport

/// The files of the server, read from beside it.
struct ServerFiles {
  /// The contents that are complete.
  private(set) var contents: Set<String> = []
  /// Files in its folder that no row knows.
  private(set) var orphans: [String] = []
  /// Complete contents whose file is not there.
  private(set) var missing: [String] = []

  /// - Parameter data: the server's folder.
  init(_ data: String) throws {
    let accounts = try FileManager.default.contentsOfDirectory(atPath: data + "/accounts")
    guard let account = accounts.first, accounts.count == 1 else { throw Unexpected("accounts: \(accounts)") }
    let place = "accounts/\(account)"
    guard FileManager.default.fileExists(atPath: "\(data)/\(place)/files.db") else { return }
    let found = (try? FileManager.default.subpathsOfDirectory(atPath: "\(data)/\(place)/files")) ?? []
    // Listed before the rows are read, because every listed file had its row before.
    let files = found.compactMap { name in name.contains("/") ? String(name.split(separator: "/")[1]) : nil }
    let database = try ServerFolder(data, isCreating: false).openDatabase(
      "\(place)/files.db", keyName: "files \(account)", readers: 1)
    defer { database.close() }
    try database.read { connection in
      let known = Set(
        try connection.fetch("SELECT file FROM Upload UNION SELECT file FROM Content", as: String.self))
      orphans = files.filter { !known.contains($0) }
      let complete = try connection.fetchRows(
        "SELECT content, variant, file FROM Content", as: String.self, String.self, String.self)
      contents = Set(complete.filter { $0.1 == "full" }.map(\.0))
      let there = Set(files)
      missing = complete.filter { !there.contains($0.2) }.map { "\($0.0) \($0.1)" }
    }
  }

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
