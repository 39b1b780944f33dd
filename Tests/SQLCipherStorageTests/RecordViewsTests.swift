import CipherSQL
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// The views of an account's records for reports in SQL.
@Suite struct RecordViewsTests {
  private let folder: TemporaryFolder
  private let account = AccountName(name: "one", folder: "00000000000000000000000000000001")

  init() throws { folder = try TemporaryFolder() }

  @Test("Each entity has a view with the name and the shared columns of its table")
  func columns() async throws {
    let storage = try EmbeddedStorage(
      in: try serverFolder(folder.path + "/data", accounts: [account.folder]), schemas: [RestorationSchema.schema],
      accounts: [])
    defer { storage.close() }
    let (house, room) = (RecordName("Project", newUuid()), RecordName("Room", newUuid()))
    try await storage.write(account) { data in
      let time = 1_767_225_600_000 as Int64
      _ = try data.store(
        house, over: nil, RecordState(fields: ["title": "Elm"], updatedAt: time), createdAt: time, at: time)
      _ = try data.store(
        room, over: nil,
        RecordState(
          fields: [
            "title": "Hall's \"end\"", "projectId": .text(house.entityUuid),
            "squareFootage": .real(try #require(FiniteReal(12.5))),
          ],
          updatedAt: time), createdAt: time, at: time)
    }
    try await storage.read(account) { data in
      let reader = try #require(data as? AccountReader)
      let connection = try #require(reader.rows as? EmbeddedRows).connection
      let rows = try connection.fetchRows(
        """
        SELECT room.title, project.title, room.squareFootage, room.createdAt, room.syncVersion, room.isDeleted
        FROM OfflineRoom AS room JOIN OfflineProject AS project USING (projectId)
        """, as: String.self, String.self, Double.self, String.self, Int.self, Bool.self)
      #expect(rows.count == 1)
      let row = try #require(rows.first)
      #expect(row.0 == "Hall's \"end\"" && row.1 == "Elm" && row.2 == 12.5)
      #expect(row.3 == "2026-01-01T00:00:00.000Z" && row.4 == 1 && !row.5)
      for (type, table) in reader.map.tables {
        let shown = Set(
          try connection.fetch(
            "SELECT name FROM pragma_table_xinfo(\(table.entity.table.name))", as: String.self))
        let shared = Set(table.columns.map(\.name) + [table.entity.key, "uuid", "serverId", "createdAt"])
        #expect(shown.isSuperset(of: shared), "\(type)")
      }
    }
  }
}
