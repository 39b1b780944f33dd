import CipherSQL
import Foundation
import RestorationModel
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Random deletions, syncs and restorations on two devices.
@Suite(.serialized) struct RandomRestoringTests {
  private let devices: [Device]
  private let records: [(kind: String, uuid: UUID)]

  init() async throws {
    let server = try LocalServer()
    let one = try await Device("ada", at: server)
    let two = try await Device("ben", at: server)
    devices = [one, two]
    keptServer = server
    records = try await one.write { db in
      var records: [(kind: String, uuid: UUID)] = []
      for number in 1...2 {
        let project = try db.insert(Project(title: "project \(number)"))
        records.append(("Project", project.uuid))
        for number in 1...2 {
          let room = try db.insert(Room(projectId: project.projectId, title: "room \(number)"))
          let log = try db.insert(
            AtmosphericLog(
              projectId: project.projectId, roomId: room.roomId, date: Date.now, relativeHumidity: 50, temperature: 20))
          records += [("Room", room.uuid), ("AtmosphericLog", log.uuid)]
        }
      }
      return records
    }
    for device in devices { try await device.sync() }
  }

  private let keptServer: LocalServer

  @Test(
    "After random deletions, syncs and restorations both devices and the server agree",
    arguments: (1...3).map { UInt64($0) } + [UInt64.random(in: 1000...UInt64.max)])
  func agreement(seed: UInt64) async throws {
    var random = Seeded(seed)
    var log: [String] = []
    var restored = 0
    for _ in 0..<30 {
      let number = Int.random(in: 0...1, using: &random)
      let device = devices[number]
      let (kind, uuid) = records[Int.random(in: 0..<records.count, using: &random)]
      let step = "device \(number) \(kind) \(uuid.sqlText.suffix(4))"
      switch Int.random(in: 0..<12, using: &random) {
      case 0...2:
        let isDone = try await Self.isDone { try await device.delete(kind, uuid) }
        log.append("delete \(step) \(isDone)")
      case 3...6:
        do {
          restored += try await device.undelete(kind, uuid).fetched
          let live: SQL = "SELECT isDeleted = 0 FROM \(identifier: "Offline\(kind)") WHERE uuid = \(uuid)"
          #expect(try await device.value(live, as: Bool.self) == true, "seed \(seed): \(log)")
          log.append("undelete \(step)")
        } catch let error as VaultError {
          #expect(error.code == .refused || error.code == .noSuchRecord, "\(error)")
          log.append("undelete \(step): \(error.message)")
        }
      case 7: try await device.sync(RoundRequest(pulls: false)); log.append("push \(number)")
      case 8: try await device.sync(RoundRequest(pushes: false)); log.append("pull \(number)")
      default: try await device.sync(); log.append("sync \(number)")
      }
    }
    for _ in 0..<3 {
      for device in devices {
        try await device.sync()
        for conflict in try device.conflicts() {
          log.append("conflict \(conflict.entityType) \(conflict.conflictType)")
          try device.resolve(conflict.conflictId, takesLocal: false)
        }
      }
    }
    let note = Comment(rawValue: "seed \(seed): \(log.joined(separator: "\n"))")
    try await Device.expectAgreement(devices[0], devices[1], note)
    for device in devices {
      #expect(try await device.values(Self.orphans) == [], note)
      let findings = try await device.findings()
      #expect(findings == [], note)
    }
    // Every record that is still deleted can be restored, parents first.
    for (kind, uuid) in records { _ = try? await devices[1].undelete(kind, uuid) }
    try await Device.expectAgreement(devices[0], devices[1], note)
    for (kind, uuid) in records {
      let live: SQL = "SELECT count(*) FROM \(identifier: "Offline\(kind)") WHERE uuid = \(uuid) AND isDeleted = 0"
      #expect(try await devices[0].value(live, as: Int.self) == 1, note)
    }
  }

  private static func isDone(_ body: () async throws -> Void) async throws -> Bool {
    do {
      try await body()
      return true
    } catch let error as VaultError where error.code == .noSuchRecord {
      return false
    }
  }

  /// Live records whose parent is deleted.
  private static let orphans: SQL = """
    SELECT 'room ' || room.uuid FROM OfflineRoom AS room JOIN OfflineProject AS project USING (projectId)
    WHERE room.isDeleted = 0 AND project.isDeleted = 1
    UNION ALL SELECT 'log ' || log.uuid FROM OfflineAtmosphericLog AS log JOIN OfflineRoom AS room USING (roomId)
    WHERE log.isDeleted = 0 AND room.isDeleted = 1
    """
}

extension Device {
  /// Returns the sync violations that `doctor` would report.
  fileprivate func findings() async throws -> [String] {
    let catalog = vault.syncCatalog
    return try await vault.database.read { try VaultInvariants.violations(catalog, in: $0) }
  }
}
