import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore

/// A vault with a clock and a random source of its own.
@Suite struct InjectedEnvironmentTests {
  /// 2041-01-01T00:00:00Z.
  private static let start: Int64 = 2_240_611_200_000

  private let folder: TemporaryFolder
  private let time = TestClock(Self.start, isRunning: false)

  init() throws { folder = try TemporaryFolder() }

  private func vault(_ name: String, seed: UInt64 = 1) throws -> Vault {
    try Vault.create(
      at: folder.path + "/\(name).vault",
      schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)], secret: keyFileSecret(1),
      configuration: Configuration(environment: Environment(clock: time.clock, random: .repeatable(seed))))
  }

  private func text(_ vault: Vault, _ sql: SQL) throws -> String? {
    try vault.database.read { try $0.fetchOne(sql, as: String.self) }
  }

  @Test("Records, operations, migrations and key slots have the times of the vault's clock")
  func times() throws {
    let vault = try vault("job")
    defer { vault.close() }
    let project = try vault.put(vault.entities.entity("Project"), [("title", .text("House"))])
    let midnight = "2041-01-01T00:00:00.000Z"
    #expect(project.uuidString.lowercased().hasPrefix("0209aed5-ac00-7"))
    #expect(try text(vault, "SELECT createdAt FROM OfflineProject") == midnight)
    #expect(try text(vault, "SELECT createdAt FROM OfflineSyncQueue") == midnight)
    #expect(try vault.slots().map(\.createdAt) == [midnight])
    let migrations = try vault.database.read { try MigrationRecord.all(in: $0) }
    #expect(Set(migrations.map(\.appliedAt.milliseconds)) == [Self.start])
    time.advance(by: .seconds(60))
    try vault.database.write { _ = try $0.execute("UPDATE OfflineProject SET title = 'Elm'") }
    #expect(try text(vault, "SELECT updatedAt FROM OfflineProject") == "2041-01-01T00:01:00.000Z")
    #expect(try text(vault, "SELECT createdAt FROM OfflineProject") == midnight)
  }

  @Test("A failed attempt is due again when the vault's clock says so")
  func backoff() throws {
    let vault = try vault("job")
    defer { vault.close() }
    _ = try vault.put(vault.entities.entity("Project"), [("title", .text("House"))])
    try vault.syncNow { transaction in
      let sent = try #require(try transaction.nextBatch(limit: 25).operations.first)
      var counts = PushCounts()
      try transaction.acknowledge(
        .rejected(ServerProblem(title: "", status: 500, detail: "")), of: sent, jitter: 0.5, counts: &counts)
    }
    #expect(try text(vault, "SELECT scheduledAt FROM OfflineSyncQueue") == "2041-01-01T00:00:01.250Z")
    func isDue() throws -> Bool { try vault.syncNow { try $0.nextBatch(limit: 25).operations.count == 1 } }
    time.advance(by: .milliseconds(1_249))
    #expect(try !isDue())
    time.advance(by: .milliseconds(1))
    #expect(try isDue())
  }

  @Test("A repair queues a change again with the time of the doctor's clock")
  func repair() throws {
    let vault = try vault("job")
    _ = try vault.put(vault.entities.entity("Project"), [("title", .text("House"))])
    try vault.database.write { db in
      try WriteMode.sync(on: db) { _ = try db.execute("DELETE FROM OfflineSyncQueue") }
    }
    let path = vault.layout.folder
    vault.close()
    time.advance(by: .seconds(86_400))
    let doctor = try Doctor(path: path, schemas: [RestorationSchema.schema]) { try keyFileSecret(1) }
    doctor.environment = Environment(clock: time.clock, random: .repeatable(3))
    _ = try doctor.repair(try doctor.examine())
    let again = try Vault.open(at: path, with: keyFileSecret(1), schemas: [RestorationSchema.schema])
    defer { again.close() }
    #expect(try text(again, "SELECT createdAt FROM OfflineSyncQueue") == "2041-01-02T00:00:00.000Z")
  }

  /// Returns the identifiers that a vault draws for a day's work.
  private func identifiers(_ name: String, seed: UInt64) throws -> [String] {
    let vault = try vault(name, seed: seed)
    defer { vault.close() }
    let entity = try vault.entities.entity("Project")
    let uuids = try (1...3).map { try vault.put(entity, [("title", .text("House \($0)"))]).sqlText }
    try vault.database.write { _ = try $0.execute("INSERT INTO OfflineProject (title) VALUES ('Typed as SQL')") }
    let operations = try vault.syncNow { transaction in
      _ = try transaction.deviceId()
      return try transaction.nextBatch(limit: 25).operations
    }
    return try uuids + operations.flatMap { [$0.operationId, $0.idempotencyKey ?? "", $0.entityUuid] } + [
      text(vault, "SELECT value FROM Setting WHERE name = 'deviceId'") ?? ""
    ] + (1...3).map { _ in "\(vault.environment.jitter())" }
  }

  @Test("Two vaults with the same seed draw the same UUIDs, operation ids, keys of attempts and jitter")
  func seeds() throws {
    let first = try identifiers("first", seed: 7)
    #expect(first.count == 3 + 4 * 3 + 1 + 3 && !first.contains(""))
    #expect(Set(first).count == 3 + 4 * 2 + 1 + 1 + 3)
    #expect(try identifiers("second", seed: 7) == first)
    #expect(Set(try identifiers("third", seed: 8)).isDisjoint(with: first))
  }
}
