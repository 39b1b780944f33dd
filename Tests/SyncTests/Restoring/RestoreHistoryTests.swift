import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Random histories of two devices, in which vaults are copied and restored, or the server is restored.
///
/// At the end all devices and the server agree. Each acknowledged value is the record's value, was seen and
/// replaced by a user, or is part of a conflict.
@Suite struct RestoreHistoryTests {
  @Test(
    "Copies and restores of vaults at random moments lose no acknowledged write",
    arguments: [2, 5, UInt64.random(in: 1...UInt64.max)])
  func vaults(seed: UInt64) async throws {
    var history = try await History(seed: seed)
    for step in 0..<28 {
      switch history.random(12) {
      case 0..<6: try await history.edit(step)
      case 6..<9: try await history.sync()
      case 9: try history.takeSnapshot(step)
      case 10: try await history.restoreVault()
      default: try await history.copyVault()
      }
    }
    try await history.expectNothingLost()
  }

  @Test(
    "Restores of the server with writes past old cursors lose no acknowledged write",
    arguments: [2, 3, UInt64.random(in: 1...UInt64.max)])
  func servers(seed: UInt64) async throws { try await Self.run(seed: seed) }

  @Test("An edit of a record in conflict stays in the conflict table when the server's version is taken")
  func editInConflict() async throws {
    try await Self.run(seed: 10_195_279_237_024_457_659)
  }

  @Test("A conflict with a version that the server lost leaves no difference behind")
  func conflictWithLostVersion() async throws { try await Self.run(seed: 11_916_947_980_656_161_027) }

  private static func run(seed: UInt64) async throws {
    var history = try await History(seed: seed)
    for step in 0..<28 {
      switch history.random(12) {
      case 0..<6: try await history.edit(step)
      case 6..<10: try await history.sync()
      case 10: try await history.backUpServer()
      default: try await history.restoreServer()
      }
    }
    try await history.expectNothingLost()
  }
}

/// A random history and the writes in it.
private struct History {
  /// A value that a user wrote to a record.
  struct Write {
    let uuid: String
    /// The value that the user saw before.
    let old: String
    let new: String
    let step: Int
    /// The devices that have the write in their vault.
    var holders: Set<Int>
    var isAcknowledged = false
  }

  struct Snapshot {
    let device: Int
    let step: Int
    let folder: TemporaryFolder
  }

  let seed: UInt64
  let server: LocalServer
  var devices: [Device]
  var writes: [Write] = []
  /// The conflicts of vaults that were replaced later.
  var conflicts: [String] = []
  private var snapshots: [Snapshot] = []
  private var backups: [String] = []
  private var generator: Seeded
  private var step = 0

  init(seed: UInt64) async throws {
    self.seed = seed
    generator = Seeded(seed)
    server = try LocalServer()
    devices = [try await Device("ada", at: server), try await Device("ben", at: server)]
    try await devices[0].write { db in
      for name in ["a", "b"] { try db.insert(Project(title: "project \(name)")) }
      for name in ["a", "b", "c"] { try db.insert(Room(projectId: 1, title: "room \(name)")) }
    }
    for device in devices { try await device.sync() }
  }

  mutating func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  // MARK: Steps

  /// Renames a record, or adds one. No two edits write the same value.
  mutating func edit(_ step: Int) async throws {
    self.step = step
    let number = random(devices.count)
    let device = devices[number]
    let table = random(3) == 0 ? "OfflineProject" : "OfflineRoom"
    let value = "value-\(step)-"
    if random(6) == 0 {
      try await device.write {
        _ = try $0.execute("INSERT INTO OfflineRoom (projectId, title) VALUES (1, \(value))")
      }
      let uuid = try #require(
        try await device.value("SELECT uuid FROM OfflineRoom WHERE title = \(value)", as: String.self))
      writes.append(Write(uuid: uuid, old: "", new: value, step: step, holders: [number]))
      return
    }
    let rows = try await device.values("SELECT uuid || title FROM \(identifier: table) ORDER BY uuid")
    let row = rows[random(rows.count)]
    let (uuid, old) = (String(row.prefix(36)), String(row.dropFirst(36)))
    try await device.write {
      _ = try $0.execute("UPDATE \(identifier: table) SET title = \(value) WHERE uuid = \(uuid)")
    }
    writes.append(Write(uuid: uuid, old: old, new: value, step: step, holders: [number]))
  }

  mutating func sync() async throws {
    let number = random(devices.count)
    try await devices[number].sync()
    let clean = Set(
      try await devices[number].values(
        "SELECT uuid FROM OfflineRoom WHERE isDirty = 0 UNION ALL SELECT uuid FROM OfflineProject WHERE isDirty = 0"))
    for index in writes.indices where writes[index].holders.contains(number) && clean.contains(writes[index].uuid) {
      writes[index].isAcknowledged = true
    }
  }

  mutating func takeSnapshot(_ step: Int) throws {
    let number = random(devices.count)
    let folder = try TemporaryFolder()
    try FileManager.default.copyItem(
      atPath: devices[number].vault.layout.folder, toPath: folder.path + "/job.vault")
    snapshots.append(Snapshot(device: number, step: step, folder: folder))
  }

  /// Replaces a vault by an older copy of it.
  mutating func restoreVault() async throws {
    guard !snapshots.isEmpty else { return }
    let snapshot = snapshots.remove(at: random(snapshots.count))
    let old = devices[snapshot.device]
    conflicts += try await old.conflictTexts()
    devices[snapshot.device] = try Device(
      opening: snapshot.folder, url: server.server.url, token: old.token)
    for index in writes.indices where writes[index].step > snapshot.step {
      writes[index].holders.remove(snapshot.device)
    }
    // The user legitimately loses writes that no server and no other vault ever held.
    writes.removeAll { !$0.isAcknowledged && $0.holders.isEmpty }
  }

  mutating func copyVault() async throws {
    guard devices.count < 4 else { return }
    let number = random(devices.count)
    devices.append(try Device(copyOf: devices[number], at: server))
    for index in writes.indices where writes[index].holders.contains(number) {
      writes[index].holders.insert(devices.count - 1)
    }
  }

  mutating func backUpServer() async throws { backups.append(try await server.backUp()) }

  mutating func restoreServer() async throws {
    guard !backups.isEmpty else { return }
    try await server.restore(backups[random(backups.count)])
  }

  // MARK: The end

  mutating func expectNothingLost() async throws {
    try await settle()
    let first = try await devices[0].digests()
    for device in devices {
      #expect(try await device.digests() == first, "seed \(seed)")
      #expect(try await device.waiting() == 0, "seed \(seed)")
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, "seed \(seed)")
      conflicts += try await device.conflictTexts()
    }
    let values = Set(
      try await devices[0].values("SELECT title FROM OfflineRoom UNION ALL SELECT title FROM OfflineProject"))
    let replaced = Set(writes.map { $0.uuid + $0.old })
    for write in writes where !values.contains(write.new) && !replaced.contains(write.uuid + write.new) {
      #expect(conflicts.contains { $0.contains(write.new) }, "seed \(seed): \(write) is lost")
    }
  }

  private mutating func settle() async throws {
    for _ in 0..<12 {
      var isQuiet = true
      for device in devices {
        let report = try await device.sync()
        if report.pushed + report.pulled + report.conflicts + report.failed + report.repaired > 0 { isQuiet = false }
        for conflict in try device.conflicts() {
          isQuiet = false
          try device.resolve(conflict.conflictId, takesLocal: Bool.random(using: &generator))
        }
      }
      if isQuiet { return }
    }
    Issue.record("seed \(seed): not quiet after 12 rounds")
  }
}
