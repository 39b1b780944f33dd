import BenchmarkFloor
import CipherSQL
import Foundation
import VaultStore
import RestorationModel

/// A local write with its operation: a vault with its triggers, compared with the same rows written manually into the
/// same tables without triggers. A new record and its operation are two rows. An edit also writes the base, the third
/// side of the merge. Each side is one transaction, because single transactions would measure the disk.
final class OutboxSuite {
  private let vault: Vault
  private let floor: Floor
  private let count: Int
  private let project: UUID
  private let room: UUID
  private let readings: [AtmosphericLog]
  private let floorLogs: [floor_log]
  private let rooms: [uuid_t]
  private var squareFootage = 100.0

  init(folder: String, count: Int) throws {
    self.count = count
    vault = try BenchmarkVault.make(folder + "/outbox.vault")
    let copy = try BenchmarkVault.make(folder + "/outbox-floor.vault")
    let rooms = (0..<count).map { _ in UUID.version7() }
    let project = UUID.version7()
    for vault in [vault, copy] { try Self.makeRooms(rooms, project, in: vault) }
    let triggers = try copy.database.read {
      try $0.fetch("SELECT name FROM sqlite_schema WHERE type = 'trigger'", as: String.self)
    }
    let key = try copy.withDatabaseKey { Array($0) }
    copy.close()
    floor = try Floor(path: copy.databasePath, key: key, cacheKiB: Configuration().writerPageCacheBytes >> 10)
    for name in triggers { try floor.check(floor_execute(floor.handle, "DROP TRIGGER \(name)")) }
    self.project = project
    room = rooms[0]
    self.rooms = rooms.map(\.uuid)
    readings = (0..<count).map { BenchmarkVault.reading($0, project: 1, room: 1) }
    floorLogs = readings.map { reading in
      var log = floor_log()
      withUnsafeMutableBytes(of: &log.uuid) { target in
        withUnsafeBytes(of: reading.uuid.uuid) { target.copyMemory(from: $0) }
      }
      (log.projectId, log.roomId) = (1, 1)
      log.date = reading.date.timeIntervalSince1970
      log.relativeHumidity = reading.relativeHumidity
      log.temperature = reading.temperature
      log.dewPoint = reading.dewPoint ?? 0
      log.createdAt = reading.createdAt.timeIntervalSince1970
      return log
    }
  }

  private static func makeRooms(_ rooms: [UUID], _ project: UUID, in vault: Vault) throws {
    try vault.database.write { db in
      _ = try db.insert(Project(uuid: project, title: "House"))
      for room in rooms { _ = try db.insert(Room(uuid: room, projectId: 1, title: "Room", squareFootage: 99)) }
      try WriteMode.purge(on: db) { for sql in synced { try db.execute(SQL(raw: sql)) } }
    }
    try vault.database.withWriter { _ = try $0.checkpoint() }
  }

  var benchmarks: [Benchmark] {
    [
      Benchmark(
        name: "\(count) readings with their operations in one transaction", limit: 1.5,
        typed: { [self] in try vault.database.write { db in try db.insert(contentsOf: readings) } },
        floor: { [self] in
          try floor.check(
            floor_insert_logs(floor.handle, floorLogs, Int32(count), project.sqlText, room.sqlText))
        },
        prepare: { [self] in try empty() }),
      Benchmark(
        name: "\(count) edits of synced rooms, operations and bases", limit: 1.5,
        typed: { [self] in try measureRooms() },
        floor: { [self] in
          try floor.check(floor_measure_rooms(floor.handle, rooms, Int32(count), project.sqlText, squareFootage))
        },
        prepare: { [self] in
          try empty()
          squareFootage += 1
        }),
    ]
  }

  private func measureRooms() throws {
    try vault.database.write { db in
      for index in 0..<count {
        try db.withStatement("UPDATE OfflineRoom SET squareFootage = ?, isAccessible = ? WHERE roomId = ?") {
          statement in
          try statement.bind(squareFootage + Double(index), at: 1)
          try statement.bind(false, at: 2)
          try statement.bind(Int64(index + 1), at: 3)
          try statement.run()
        }
      }
    }
  }

  /// As it was at the beginning: synced rooms, no readings, nothing queued.
  private func empty() throws {
    try vault.database.write { db in
      try WriteMode.purge(on: db) { for sql in Self.synced { try db.execute(SQL(raw: sql)) } }
    }
    for sql in Self.synced { try floor.check(floor_execute(floor.handle, sql)) }
    try vault.database.withWriter { _ = try $0.checkpoint() }
    try floor.check(floor_execute(floor.handle, "PRAGMA wal_checkpoint(TRUNCATE)"))
  }

  private static let synced = [
    "DELETE FROM OfflineSyncQueue", "DELETE FROM SyncBase", "DELETE FROM OfflineAtmosphericLog",
    "UPDATE OfflineProject SET isDirty = 0, syncStatus = 'synced', syncVersion = 1",
    "UPDATE OfflineRoom SET isDirty = 0, syncStatus = 'synced', syncVersion = 1, isAccessible = 1",
  ]
}
