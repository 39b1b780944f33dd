import CipherSQL
import Foundation
import Platform
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage

/// A server folder that an operator maintains with the program `fieldvault-server`.
struct OperatedFolder {
  let temporary: TemporaryFolder
  let data: String

  init() throws {
    temporary = try TemporaryFolder()
    data = temporary.path + "/data"
  }

  /// Runs a command to its end.
  func run(_ arguments: [String]) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(arguments + ["--data", data], in: temporary)
  }

  /// Starts a command.
  func start(_ arguments: [String]) throws -> RunningServer {
    try RunningServer(arguments + ["--data", data], in: temporary)
  }

  /// Adds a user with an account. Returns the token.
  func addUser(_ name: String, account: String, _ options: [String] = []) async throws -> String {
    try await run(["user", "add", name, "--account", account, "--quiet"] + options).output
      .trimmingCharacters(in: .newlines)
  }

  /// Runs a closure with the address of a server of the folder, and stops the server.
  func serving(_ options: [String] = [], _ body: (String) async throws -> Void) async throws {
    let server = try start(["serve", "--listen", "127.0.0.1:0", "--schema", "restoration", "--quiet"] + options)
    try await body(try await server.url())
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  /// Runs a closure with the directory.
  func withDirectory<Result>(_ body: (ServerDirectory) throws -> Result) throws -> Result {
    let directory = try ServerDirectory(in: try ServerFolder(data, isCreating: false))
    defer { directory.close() }
    return try body(directory)
  }

  /// The paths of all files, relative to the folder, sorted.
  func files() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: data).filter { !Files.isFolder("\(data)/\($0)") }.sorted()
  }

  /// Returns the path of a database of an account.
  func path(_ kind: AccountDatabase, of account: String) throws -> String {
    let folder = try withDirectory { try $0.accounts().first { $0.name == account } }?.folder
    return "\(data)/\(kind.path(try #require(folder)))"
  }

  /// Leaves free pages of at least this size in the records of an account.
  func waste(_ bytes: Int, in account: String) throws {
    let folder = try ServerFolder(data, isCreating: false)
    let found = try withDirectory { try $0.accounts().first { $0.name == account } }
    let records = try AccountDatabase.records.open(try #require(found).folder, in: folder)
    defer { records.close() }
    try records.writeAsMigration { connection in
      try connection.execute("CREATE TABLE Waste (bytes BLOB) STRICT")
      try connection.execute(
        """
        WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < \(bytes / 2_000))
        INSERT INTO Waste SELECT randomblob(2000) FROM number
        """)
      try connection.execute("DROP TABLE Waste")
    }
  }
}
