import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Three users make random edits, and their devices sync in random order. After all conflicts are resolved, the
/// devices and the server hold the same records. No operation and no inbox entry remains.
@Suite struct ConvergenceTests {
  /// All seeds but the random one once failed: a parent deleted twice (1, 2), a deletion that cascaded to
  /// reparented records (145), a resolution that references a purged record (103), a cascade that outlived its root
  /// (20261121).
  @Test(
    "Devices and server agree once all edits are synced and all conflicts are resolved",
    arguments: [1, 2, 103, 145, 20_261_121, UInt64.random(in: 1...UInt64.max)])
  func devicesAndServerAgreeWhenAllIsQuiet(seed: UInt64) async throws {
    let server = try LocalServer()
    var devices: [Device] = []
    for name in ["ada", "ben", "cleo"] { devices.append(try await Device(name, at: server)) }
    var random = Seeded(seed)
    try await devices[0].write { db in
      let project = try db.insert(Project(title: "House"))
      try db.insert(Location(projectId: project.projectId, title: "ground"))
      try db.insert(Room(projectId: project.projectId, locationId: 1, title: "Kitchen"))
    }
    for device in devices { try await device.sync() }
    for step in 0..<60 {
      let device = devices[Int.random(in: 0..<devices.count, using: &random)]
      if Int.random(in: 0..<4, using: &random) == 0 {
        try await device.sync()
      } else {
        let edit = Edit(random: random.next(), step: step)
        try await device.write { db in try edit.make(in: db) }
      }
    }
    try await settle(devices, at: server, &random, seed)
    let first = try await devices[0].digests()
    for device in devices {
      #expect(try await device.digests() == first, "seed \(seed)")
      let dirty = try await device.values(
        "SELECT entityType || ' ' || status || ' ' || coalesce(errorMessage, '') FROM OfflineSyncQueue WHERE completedAt IS NULL"
      )
      #expect(dirty.isEmpty, "seed \(seed)")
      let kept = try await device.values("SELECT entityType || ' ' || reason || ' ' || detail FROM SyncInbox")
      #expect(kept.isEmpty, "seed \(seed)")
      // The server has the same records: a full comparison repairs nothing.
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, "seed \(seed)")
    }
  }

  /// The state resembles a record that another device changed and then changed back.
  @Test(
    "A comparison updates the version of a record whose content already equals the server's", arguments: [false, true])
  func olderVersionOfEqualContent(losesCursor: Bool) async throws {
    let server = try LocalServer()
    let (one, two) = try await devicesWithRoom(at: server)
    let cursor = try await two.vault.sync { try SyncSettings.value(.cursor, in: $0.connection) }
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'Loft'") }
    try await one.sync()
    try await two.sync()
    try await two.vault.sync { transaction in
      try transaction.connection.execute("UPDATE OfflineRoom SET syncVersion = 1")
      try SyncSettings.set(.cursor, losesCursor ? "unknown" : cursor, in: transaction.connection)
    }
    try await two.sync(RoundRequest(isFull: !losesCursor))
    #expect(try await two.values("SELECT title || syncVersion || isDirty FROM OfflineRoom") == ["Loft20"])
  }

  @Test("A value that a merge on the server overwrites is kept in the conflict table")
  func valueLostAtTheServer() async throws {
    let server = try LocalServer()
    let (one, two) = try await devicesWithRoom(at: server)
    try await one.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'ONE'") }
    try await one.sync()
    try await two.write { _ = try $0.execute("UPDATE OfflineRoom SET title = 'TWO'") }
    try await two.sync(RoundRequest(pulls: false))
    let kept = try await two.values(
      """
      SELECT (localVersion ->> 'title') || ' ' || (remoteVersion ->> 'title') || ' ' || resolution
      FROM OfflineConflictResolution
      """)
    #expect(kept == ["TWO ONE local_wins"])
  }

  /// Returns two devices that both hold a project with a room.
  private func devicesWithRoom(at server: LocalServer) async throws -> (Device, Device) {
    let (one, two) = (try await Device("ada", at: server), try await Device("ben", at: server))
    try await one.write { db in
      let project = try db.insert(Project(title: "House"))
      _ = try db.insert(Room(projectId: project.projectId, title: "Kitchen"))
    }
    try await one.sync()
    try await two.sync()
    return (one, two)
  }

  private func settle(
    _ devices: [Device], at server: LocalServer, _ random: inout Seeded, _ seed: UInt64
  ) async throws {
    for _ in 0..<12 {
      try await server.finishJobs()
      var isQuiet = true
      for device in devices {
        let report = try await device.sync()
        if report.pushed + report.pulled + report.conflicts + report.failed > 0 { isQuiet = false }
        for conflict in try device.conflicts() {
          isQuiet = false
          let takesLocal = Bool.random(using: &random)
          do {
            try device.resolve(conflict.conflictId, takesLocal: takesLocal)
          } catch is VaultError {
            try device.resolve(conflict.conflictId, takesLocal: false)
          }
        }
        try device.discardFailed()
      }
      if isQuiet { return }
    }
    Issue.record("seed \(seed): not quiet after 12 rounds")
  }
}

/// A random edit of the database, determined by its seed and step.
struct Edit: Sendable {
  let random: UInt64
  let step: Int

  func make(in db: WriteConnection) throws {
    var random = Seeded(random)
    func pick(_ table: String, _ key: String) throws -> Int64? {
      try db.fetchOne(
        "SELECT \(identifier: key) FROM \(identifier: table) WHERE isDeleted = 0 ORDER BY (\(identifier: key) * 7919 + \(step)) % 101 LIMIT 1",
        as: Int64.self)
    }
    let project = try pick("OfflineProject", "projectId")
    let location = try pick("OfflineLocation", "locationId")
    let room = try pick("OfflineRoom", "roomId")
    let log = try pick("OfflineAtmosphericLog", "logId")
    switch Int.random(in: 0..<14, using: &random) {
    case 0: try db.execute("INSERT INTO OfflineProject (title) VALUES (\("project \(step)"))")
    case 1:
      guard let project else { return }
      try db.execute(
        "INSERT INTO OfflineLocation (projectId, parentLocationId, title) VALUES (\(project), NULL, \("location \(step)"))"
      )
    case 2, 3:
      guard let location else { return }
      try db.execute(
        """
        INSERT INTO OfflineRoom (projectId, locationId, title)
        SELECT projectId, locationId, \("room \(step)") FROM OfflineLocation WHERE locationId = \(location)
        """)
    case 4, 5, 6:
      guard let room else { return }
      try db.execute(
        """
        INSERT INTO OfflineAtmosphericLog (projectId, roomId, date, relativeHumidity, temperature)
        SELECT projectId, roomId, '2026-03-01T08:00:00.000Z', 50, \(Double(step)) FROM OfflineRoom WHERE roomId = \(room)
        """)
    case 7:
      if let project { try db.execute("UPDATE OfflineProject SET title = \("p\(step)") WHERE projectId = \(project)") }
    case 8: if let room { try db.execute("UPDATE OfflineRoom SET title = \("r\(step)") WHERE roomId = \(room)") }
    case 9:
      if let room { try db.execute("UPDATE OfflineRoom SET squareFootage = \(Double(step)) WHERE roomId = \(room)") }
    case 10:
      if let log {
        try db.execute("UPDATE OfflineAtmosphericLog SET temperature = \(Double(step)) WHERE logId = \(log)")
      }
    case 11:
      if let room, let location {
        try db.execute("UPDATE OfflineRoom SET locationId = \(location) WHERE roomId = \(room)")
      }
    case 12: if let room { try db.execute("DELETE FROM OfflineRoom WHERE roomId = \(room)") }
    default:
      if Int.random(in: 0..<3, using: &random) == 0 {
        if let location { try db.execute("DELETE FROM OfflineLocation WHERE locationId = \(location)") }
      } else {
        try db.execute("UPDATE OfflineRoom SET isDeleted = 0 WHERE isDeleted = 1 AND roomId % 3 = \(step % 3)")
      }
    }
  }
}

extension Device {
  func discardFailed() throws {
    var ids: [String] = []
    try vault.forEachOperation { if $0.status == "failed" { ids.append($0.operationId) } }
    if !ids.isEmpty { _ = try vault.discard(ids) }
  }
}
