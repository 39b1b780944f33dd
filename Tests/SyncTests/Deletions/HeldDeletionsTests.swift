import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import SyncServer
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage
@testable import VaultStore
@testable import SyncEngine

/// A comparison that would delete most records, which requires the user's acceptance before any deletion.
@Suite struct HeldDeletionsTests {
  private let server: LocalServer
  private let device: Device

  init() async throws {
    server = try LocalServer()
    device = try await Device("ada", at: server)
  }

  private func fill(_ count: Int) async throws {
    try await device.write { connection in
      for number in 0..<count { _ = try connection.insert(Project(title: "Dam \(number)")) }
    }
    try await device.sync()
  }

  /// Removes records from the server's database, as damage or a manual restore from a backup would.
  private func loseRecords(_ count: Int) async throws {
    let data = server.folder.path + "/data"
    try await server.restart(while: {
      let folder = try ServerFolder(data, isCreating: false)
      let directory = try ServerDirectory(in: folder)
      let account = try #require(try directory.accounts().first).folder
      directory.close()
      let database = try folder.openDatabase(
        "accounts/\(account)/records.db", keyName: "account \(account)", readers: 1)
      try await database.write { connection in
        let lost = try connection.fetch(
          "SELECT entityUuid FROM ServerRecord WHERE entityType = 'Project' ORDER BY sequence LIMIT \(count)",
          as: String.self)
        for uuid in lost { _ = try connection.execute("DELETE FROM ServerRecord WHERE entityUuid = \(uuid)") }
        let schema = try AccountSchema([RestorationSchema.schema], environment: .system)
        let writer = try AccountWriter(EmbeddedRowsWriter(connection), schema, .system)
        try writer.rebuild()
        _ = try writer.finish()
      }
      database.close()
    })
  }

  private func live() async throws -> Int? {
    try await device.value("SELECT count(*) FROM OfflineProject WHERE isDeleted = 0", as: Int.self)
  }

  @Test("A comparison keeps the user's deletion of a record that the server lacks until the server was asked")
  func pendingDeletion() async throws {
    try await fill(1)
    try await device.write { _ = try $0.execute("DELETE FROM OfflineProject") }
    try await loseRecords(1)
    let waiting: SQL = "SELECT operationType FROM OfflineSyncQueue WHERE completedAt IS NULL"
    for _ in 0..<2 {
      let report = try await device.sync(RoundRequest(pushes: false, isFull: true))
      #expect(report.repaired == 0)
      #expect(try await device.values(waiting) == ["delete"])
    }
    try await device.sync()
    #expect(try await device.values(waiting) == [])
    #expect(try await live() == 0)
  }

  @Test("A comparison that would delete most records keeps them, reports the reason, and awaits acceptance")
  func held() async throws {
    // Twenty deletions need no acceptance.
    try await fill(20)
    try await loseRecords(20)
    let few = try await device.sync(RoundRequest(isFull: true))
    #expect(few.repaired == 20 && few.heldDeletions == nil)
    try await fill(30)
    try await loseRecords(30)
    for _ in 0..<2 {
      let report = try await device.worker.sync(RoundRequest(isFull: true))
      #expect(report.outcome == .paused && report.heldDeletions?.deletions == 30)
      #expect(try await live() == 30)
      let status = try await device.vault.database.read { [device] in
        try StoreStatus.read(device.vault.entities, from: $0)
      }
      #expect(status.heldDeletions == 30 && status.pause?.contains("would delete 30 of ") == true)
    }
    // The user accepts the 30 deletions that were reported, but one more record is lost. The acceptance does not
    // cover it.
    try await device.write { connection in _ = try connection.insert(Project(title: "Weir")) }
    _ = try await device.worker.sync(RoundRequest(pulls: false))
    try await loseRecords(1)
    try await Task.detached { [device] in try device.vault.acceptDeletions() }.value
    #expect(try await device.worker.sync(RoundRequest(isFull: true)).heldDeletions?.deletions == 31)
    #expect(try await live() == 31)
    try await Task.detached { [device] in try device.vault.acceptDeletions() }.value
    #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 31)
    #expect(try await live() == 0)
    let status = try await device.vault.database.read { [device] in
      try StoreStatus.read(device.vault.entities, from: $0)
    }
    #expect(status.heldDeletions == nil && status.pause == nil)
  }
}
