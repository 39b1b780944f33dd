import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Copied or restored vaults that continue to sync beside the original vault.
@Suite struct CopiedVaultTests {
  private let server: LocalServer
  private let one: Device

  init() async throws {
    server = try LocalServer()
    one = try await Device("ada", at: server)
    try await one.write { _ = try $0.insert(Project(title: "House")) }
    try await one.sync()
  }

  private func rename(_ device: Device, _ title: String, column: String = "title") async throws {
    try await device.write {
      _ = try $0.execute("UPDATE OfflineProject SET \(identifier: column) = \(title) WHERE projectId = 1")
    }
  }

  private func makeBackup(of device: Device, at path: String) throws { _ = try device.vault.backUp(to: path) }

  private func key(_ device: Device) async throws -> String? {
    try await device.value(
      "SELECT idempotencyKey FROM OfflineSyncQueue WHERE completedAt IS NULL", as: Optional<String>.self) ?? nil
  }

  @Test("Copies of a vault with a pending operation lose no edit")
  func copiesWithPendingOperation() async throws {
    try await rename(one, "Elm")
    let two = try Device(copyOf: one, at: server)
    try await one.sync()
    try await rename(two, "A-12", column: "projectNumber")
    let report = try await two.sync()
    #expect(report.conflicts == 0 && report.failed == 0)
    try await one.sync()
    for device in [one, two] {
      #expect(try await device.values("SELECT title || ' ' || projectNumber FROM OfflineProject") == ["Elm A-12"])
      #expect(try await device.waiting() == 0)
    }
  }

  @Test("A payload under a used idempotency key is sealed again under a new key and merged")
  func usedKey() async throws {
    try await rename(one, "Elm")
    let first = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }
    let key = try #require(try await key(one))
    #expect(first.map(\.idempotencyKey) == [key])
    // Version 0.1 drew the key when the operation was queued, so a copy of the vault could use it for another edit.
    let two = try Device(copyOf: one, at: server)
    try await two.write {
      _ =
        try $0.execute("UPDATE OfflineSyncQueue SET payload = NULL, status = 'pending' WHERE completedAt IS NULL")
    }
    try await rename(two, "A-12", column: "projectNumber")
    _ = try await two.vault.sync { try $0.nextBatch(limit: 25).operations }
    try await two.write {
      _ =
        try $0.execute("UPDATE OfflineSyncQueue SET idempotencyKey = \(key) WHERE completedAt IS NULL")
    }
    try await one.sync()
    let report = try await two.sync()
    #expect(report.failed == 0 && report.conflicts == 0)
    try await one.sync()
    #expect(try await one.value("SELECT projectNumber FROM OfflineProject", as: String.self) == "A-12")
    #expect(try await one.value("SELECT title FROM OfflineProject", as: String.self) == "Elm")
    #expect(try await two.waiting() == 0)
  }

  @Test("The second copy of a vault that pushes draws a new device id and runs a full comparison")
  func copyDrawsDeviceId() async throws {
    let two = try Device(copyOf: one, at: server)
    let id = try await one.setting(.deviceId)
    try await rename(one, "Elm")
    try await one.sync()
    try await rename(two, "A-12", column: "projectNumber")
    let report = try await two.sync()
    #expect(report.hasCompared)
    #expect(try await one.setting(.deviceId) == id)
    #expect(try await two.setting(.deviceId) != id)
    #expect(try await two.sync().hasCompared == false)
  }

  @Test("A restored vault draws a new device id and runs a full comparison")
  func restoredVault() async throws {
    let backup = one.folder.path + "/job.backup"
    try makeBackup(of: one, at: backup)
    let id = try await one.setting(.deviceId)
    let restored = try Device(restoring: backup, of: one, at: server)
    #expect(try await restored.setting(.deviceId) == nil)
    #expect(try await restored.sync().hasCompared)
    #expect(try await restored.setting(.deviceId) != id)
  }

  @Test("A response about an older version never reverts a record to that version")
  func olderResponse() async throws {
    try await rename(one, "Elm")
    let sent = try await one.vault.sync { try $0.nextBatch(limit: 25).operations }[0]
    let remote = try #require(
      try await one.worker.remote.records(entityType: "Project", uuids: [sent.entityUuid], epoch: nil).changes.first)
    for outcome: PushResult.Outcome in [
      .accepted(version: 1, serverId: 1), .merged(remote, lost: []),
      .conflict(.concurrentEdit, fields: ["title"], record: remote),
    ] {
      let device = try Device(copyOf: one, at: server)
      // Meanwhile the device has pulled version 4 of the record.
      try await device.vault.sync { transaction in
        try transaction.connection.execute("UPDATE OfflineProject SET syncVersion = 4")
        try transaction.connection.execute("UPDATE SyncBase SET syncVersion = 4")
        var counts = PushCounts()
        try transaction.acknowledge(outcome, of: sent, jitter: 0, counts: &counts)
      }
      #expect(try await device.value("SELECT syncVersion FROM OfflineProject", as: Int.self) == 4)
      #expect(try await device.value("SELECT title FROM OfflineProject", as: String.self) == "Elm")
      // The edit stays pending, on top of version 4.
      #expect(
        try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == ["pending"])
      #expect(try device.conflicts().isEmpty)
    }
  }

  @Test("A device pauses while the server speaks another protocol version, and sends its edit later")
  func otherProtocol() async throws {
    try await rename(one, "Elm")
    let remote = InterveningRemote(remote: await one.worker.remote)
    remote.changeAccount { $0.protocolVersion = 3 }
    let worker = SyncWorker(
      vault: one.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    let report = try await worker.sync()
    #expect(report.outcome == .paused && report.failure?.responseClass == .otherProtocol)
    #expect(try await one.waiting() == 1)
    #expect(try await one.sync().pushed == 1)
  }

  // Found by the simulation, seed 98.
  @Test("Whoever takes the server's side of a conflict has its time of creation as well")
  func timeOfCreationInConflict() async throws {
    try await one.sync()
    try await one.write { db in
      _ = try db.execute(
        "INSERT INTO OfflineProject (title, createdAt) VALUES ('Oak', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year'))"
      )
    }
    let copy = try Device(copyOf: one, at: server)
    try await one.sync()
    try await copy.write { db in _ = try db.execute("UPDATE OfflineProject SET title = 'Elm' WHERE title = 'Oak'") }
    try await copy.sync()
    let conflict = try #require(try copy.vault.conflicts(resolved: false).first)
    try copy.vault.resolveConflict(conflict.conflictId, takesLocal: false, choices: [:], user: "ada")
    let times: SQL = "SELECT title || createdAt || updatedAt FROM OfflineProject ORDER BY uuid"
    #expect(try await one.values(times) == copy.values(times))
    #expect(try await copy.sync(RoundRequest(isFull: true)).repaired == 0)
  }

  @Test("A device stores the timestamps that the server corrected in the device's own records")
  func correctedTimes() async throws {
    // The clock of this device runs a year ahead.
    try await one.write { db in
      _ = try db.execute(
        "UPDATE OfflineProject SET title = 'Elm', updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year')")
      _ = try db.execute(
        """
        INSERT INTO OfflineProject (title, createdAt, updatedAt) VALUES ('Oak',
          strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year'), strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+1 year'))
        """)
    }
    try await one.sync()
    let two = try await Device("ben", at: server)
    try await two.sync()
    let times: SQL = "SELECT title || createdAt || updatedAt FROM OfflineProject ORDER BY uuid"
    #expect(try await one.values(times) == two.values(times))
    #expect(
      try await one.value("SELECT max(updatedAt) <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM OfflineProject") == true)
  }
}

extension Device {
  /// Creates a device with a copy of the vault folder of another device, as `cp -r` makes it while no process
  /// writes.
  convenience init(copyOf other: Device, at server: LocalServer) throws {
    let folder = try TemporaryFolder()
    try FileManager.default.copyItem(
      atPath: other.vault.layout.folder, toPath: folder.path + "/job.vault")
    try self.init(opening: folder, url: server.server.url, token: other.token)
  }

  /// Creates a device with a vault that is restored from a backup.
  convenience init(restoring backup: String, of other: Device, at server: LocalServer) throws {
    let folder = try TemporaryFolder()
    try Vault.restore(backup, to: folder.path + "/job.vault", with: keyFileSecret(1))
    try self.init(opening: folder, url: server.server.url, token: other.token)
  }

  func setting(_ name: SyncSettings.Name) async throws -> String? {
    try await vault.database.read { try SyncSettings.value(name, in: $0) }
  }

  /// Returns the local and the remote versions of all conflicts, including resolved ones.
  func conflictTexts() async throws -> [String] {
    try await values("SELECT localVersion || coalesce(remoteVersion, '') FROM OfflineConflictResolution")
  }
}
