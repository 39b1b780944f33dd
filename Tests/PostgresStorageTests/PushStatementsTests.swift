import CipherSQL
import Foundation
import HTTPServer
import Platform
import PostgresStorage
import ServerStorage
import ServerSupport
import SyncModel
import SyncServer
import TestSupport
import Testing

/// The number of statements that a push sends to the database.
@Suite(.serialized) struct PushStatementsTests {
  private static func table(_ name: String, _ columns: String) -> String {
    SyncedTable.sql(name, columns, schema: "houses")
  }

  /// Keys and references of every kind that a push looks up.
  private static let schema = Schema(
    name: "houses",
    migrations: [
      MigrationFile(
        version: 1, name: "houses",
        sql: table(
          "House", "title TEXT NOT NULL UNIQUE COLLATE NOCASE, street TEXT, number INTEGER, UNIQUE (street, number)")
          + table(
            "Room",
            """
            houseId INTEGER NOT NULL REFERENCES House (id) ON DELETE CASCADE, name TEXT NOT NULL,
            street TEXT, number INTEGER, UNIQUE (houseId, name),
            FOREIGN KEY (street, number) REFERENCES House (street, number)
            """))
    ])

  /// A server without sockets, whose database counts statements.
  private final class Counted {
    let server: PostgresServer
    let data: ServedData
    let token: String
    private var counter: Int64 = 0
    private(set) var epoch: String?

    init() throws {
      server = try PostgresServer("shared_preload_libraries=pg_stat_statements")
      try server.sql("CREATE EXTENSION pg_stat_statements")
      let database = try PostgresDatabase(PostgresSettings(url: server.url()))
      token = try PostgresDirectory(database).addUser("ada", account: "water", role: .device, expires: nil).token
      data = try ServedData(
        FieldVaultServer.Settings(
          .database(database, scratch: NSTemporaryDirectory()), listen: "127.0.0.1:0",
          schemas: [PushStatementsTests.schema]))
    }

    /// Sends a push, and returns its number of statements. Those that remove rows are sent with the commit, one for each row.
    func push(_ operations: [PushOperation]) async throws -> Int {
      counter += 1
      let body = PushRequest(deviceId: "tablet", deviceCounter: counter, cursor: nil, operations: operations)
      try server.sql("SELECT pg_stat_statements_reset()")
      let response = await data.router.respond(
        to: Request(
          method: "POST", path: "/v1/push",
          headers: [
            "authorization": "Bearer \(token)", "content-type": "application/json",
            WireProtocol.header.lowercased(): String(WireProtocol.version),
          ], body: body.jsonBytes))
      let text = String(decoding: response.body, as: UTF8.self)
      try #require(response.status == 200, "\(text)")
      let answer = try PushResponse(wire: SyncValue(parsing: text))
      epoch = answer.epoch
      for result in answer.results {
        guard case .accepted = result.outcome else { throw Unexpected("\(result)") }
      }
      return try #require(
        Int(
          try server.sql(
            """
            SELECT sum(calls) FROM pg_stat_statements WHERE query LIKE '%fieldvault.%' AND query NOT LIKE 'DELETE%'
            """)))
    }
  }

  private func operation(
    _ kind: OperationKind, _ type: String, _ uuid: String, version: Int64 = 0, of epoch: String? = nil,
    _ fields: SyncObject = [:]
  ) -> PushOperation {
    PushOperation(
      operationId: newUuid(), idempotencyKey: newUuid(), kind: kind, entityType: type, entityUuid: uuid,
      baseVersion: version, baseEpoch: epoch, schemaVersion: 1,
      patch: RecordPatch(fields: fields, isDeleted: kind == .delete ? true : nil, updatedAt: 1_000))
  }

  /// Creates, changes and deletes houses with a room each, and returns the numbers of statements.
  private func work(_ count: Int, on counted: Counted) async throws -> [Int] {
    let houses = (0..<count).map { _ in newUuid() }
    let street = newUuid()
    var statements: [Int] = []
    statements.append(
      try await counted.push(
        houses.enumerated().map { index, uuid in
          operation(
            .create, "House", uuid,
            ["title": .text("Elm \(uuid)"), "street": .text(street), "number": .integer(Int64(index))])
        }))
    statements.append(
      try await counted.push(
        houses.enumerated().map { index, uuid in
          operation(
            .create, "Room", newUuid(),
            [
              "houseId": .text(uuid), "name": "Kitchen", "street": .text(street), "number": .integer(Int64(index)),
            ])
        }))
    statements.append(
      try await counted.push(
        houses.map { operation(.update, "House", $0, version: 1, of: counted.epoch, ["title": .text("Oak \($0)")]) }))
    statements.append(
      try await counted.push(houses.map { operation(.delete, "House", $0, version: 2, of: counted.epoch) }))
    return statements
  }

  @Test("creations, changes and deletions take the same number of statements in a push of any size")
  func statements() async throws {
    let counted = try Counted()
    // The first push of an account brings it up to date.
    _ = try await work(1, on: counted)
    let (few, many) = (try await work(2, on: counted), try await work(20, on: counted))
    #expect(few == many)
    await counted.data.close(waitingAtMost: .seconds(1))
  }
}
