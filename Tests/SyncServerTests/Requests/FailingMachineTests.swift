import CipherSQL
import Foundation
import ServerSupport
import SyncModel
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import HTTPServer
@testable import SyncServer

/// A failure of the server's machine is not a result of an operation, so no attempt is counted.
@Suite struct FailingMachineTests {
  /// Lets the database of the account grow to so many pages; SQLite itself refuses more, as it does on a full disk.
  private func limit(_ server: TestServer, to pages: Int) async throws {
    let account = try #require(try server.withDirectory { try $0.accounts() }.first)
    try await server.server.storage.write(account) { data in
      let writer = try #require(data as? AccountWriter)
      let rows = try #require(writer.rows as? EmbeddedRowsWriter)
      try rows.writer.set(.maximumPages(pages))
    }
  }

  @Test("A full disk refuses the whole push with 507 and stores nothing") func fullDiskRefusesThePush()
    async throws
  {
    let server = try TestServer()
    let client = try server.client("ada")
    let project = newUuid()
    var operations = [Operation.create("Project", project, ["title": "Elm"])]
    for number in 0..<24 {
      let title = "Room \(number) " + String(repeating: "x", count: 1_500)
      operations.append(
        Operation.create("Room", newUuid(), ["title": .text(title), "projectId": .text(project)]))
    }
    try await limit(server, to: 1)
    let refused = try await client.push(operations)
    #expect(refused.status == 507, "\(refused.json.json.prefix(500))")
    #expect(refused.text("type") == "about:blank")
    #expect(refused.headers["retry-after"] == "300")
    #expect(try await client.pull().changes.isEmpty)
    try await limit(server, to: 1 << 30)
    #expect(try await Set(client.results(operations)) == ["accepted"])
    #expect(try await client.pull().changes.count == 25)
  }

  /// Errors of the machine, and errors of a request.
  @Test(
    "Errors of the machine become 503 or 507, and other errors do not",
    arguments: [
      (SQLError.Code.diskFull, Int32(13), 507 as Int?), (.inputOutput, 10 | 4 << 8, 503),
      (.inputOutput, 10 | 1 << 8, nil),
      (.inputOutput, 10 | 2 << 8, nil), (.busy, 5, 503), (.readOnly, 8, 503), (.cannotOpen, 14, 503),
      (.interrupted, 9, 503), (.damaged, 11, nil), (.constraint, 19, nil), (.misuse, 0, nil),
    ]) func kindsOfError(_ code: SQLError.Code, _ sqlite: Int32, _ status: Int?)
  {
    #expect(HTTPProblem(ofMachine: SQLError(code, "", sqliteCode: sqlite))?.status == status)
  }

  @Test("A cancelled or busy request becomes 503") func whatIsStoppedIsTriedAgain() {
    #expect(HTTPProblem(ofMachine: CancellationError())?.status == 503)
    #expect(HTTPProblem(ofMachine: ServerError(.busy, ""))?.status == 503)
    #expect(HTTPProblem(ofMachine: HTTPProblem.failure) == nil)
  }
}
