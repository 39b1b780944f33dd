import CipherSQL
import Foundation
import TestSupport
import VaultStore

/// Copies and restores of vaults and of the server, between two whiles of trouble.
struct Incidents {
  private(set) var copies = 0
  private(set) var vaultRestores = 0
  private(set) var serverRestores = 0
  private(set) var epochs = 0
  /// The backups of the vaults by device, with the entries that the journal had.
  private var vaultBackups: [String: (file: String, entries: Int)] = [:]
  private var serverBackup: String?
  private var serverBackups = 0
  /// The versions of the server that restores have replaced, by restore.
  private(set) var lostHistories: [[ServerStore.Version]] = []
  /// Records that devices may have sent more than once, under different keys.
  private(set) var resent: Set<String> = []
  /// Deletions of records that the server did not have, in data that a restore has replaced.
  private(set) var lostTombstones: Set<String> = []

  /// Performs one or two incidents while no device runs.
  /// - Returns: the values that devices and server must have afterwards.
  /// - Throws: ``Violation``
  mutating func happen(in world: World, _ random: inout Seeded) throws -> KeptValues {
    // The backups of this round are made first, so that the first rounds of a world restore as well.
    for seat in world.seats where vaultBackups[seat.name] == nil || random.chance(0.3) {
      try backUp(seat, in: world)
    }
    if serverBackup == nil { try backUpServer(of: world) }
    let copied = random.chance(0.4) && world.seats.count < 7 ? random.number(0..<world.seats.count) : nil
    let restored = random.chance(0.4) ? random.number(0..<world.seats.count) : nil
    let (restoresServer, startsEpoch) = (random.chance(0.35), random.chance(0.2))
    let backsUpServer = random.chance(0.5)

    resent.formUnion(try Self.unfinished(world))
    if let copied {
      copies += 1
      try world.copySeat(copied)
    }
    if let restored { try restore(world.seats[restored], in: world) }
    resent.formUnion(try Self.unfinished(world))
    let kept = try Self.kept(world)
    if restoresServer {
      try restoreServer(of: world)
    } else if startsEpoch {
      epochs += 1
      try world.server.startEpoch()
    }
    if !world.server.isRunning {
      try world.server.start()
      try world.server.awaitResponse()
    }
    if backsUpServer { try backUpServer(of: world) }
    return kept
  }

  private static func kept(_ world: World) throws -> KeptValues {
    let database = try world.store.open()
    defer { database.close() }
    let history = try database.read { try world.store.history(in: $0) }
    let devices = try world.seats.map { try OpenDevice($0, url: world.url) }
    defer { for device in devices { device.close() } }
    return try KeptValues(devices, history)
  }

  private mutating func backUp(_ seat: Seat, in world: World) throws {
    let device = try OpenDevice(seat, url: world.url)
    defer { device.close() }
    let file = seat.folder + "/backup"
    _ = try device.vault.backUp(to: file)
    vaultBackups[seat.name] = (file, try Journal.read(device.journal.path).entries.count)
  }

  private mutating func restore(_ seat: Seat, in world: World) throws {
    guard let backup = vaultBackups[seat.name] else { return }
    vaultRestores += 1
    try DeviceVault.restore(backup.file, in: seat.folder)
    // A user who restores a backup discards later writes. Writes that the server had are checked elsewhere.
    let entries = try Journal.read(DeviceVault.journal(seat.folder)).entries.count
    seat.settled.formUnion(backup.entries..<max(backup.entries, entries))
  }

  private mutating func backUpServer(of world: World) throws {
    serverBackups += 1
    let file = "\(world.folder)/server-backup-\(serverBackups)"
    if try world.server.backUp(to: file) { serverBackup = file }
  }

  private mutating func restoreServer(of world: World) throws {
    guard let serverBackup else { return }
    serverRestores += 1
    world.server.kill()
    let database = try world.store.open()
    let (old, tombstones) = try database.read {
      (try world.store.history(in: $0), try world.store.tombstones(in: $0))
    }
    database.close()
    lostHistories.append(old)
    lostTombstones.formUnion(tombstones)
    try world.server.restore(serverBackup, to: "\(world.folder)/server-\(serverRestores)")
    let restored = try world.store.open()
    defer { restored.close() }
    let new = try restored.read { try world.store.history(in: $0) }
    let known = Set(new.map { "\($0.uuid) \($0.version)" })
    resent.formUnion(old.filter { !known.contains("\($0.uuid) \($0.version)") }.map(\.uuid))
  }

  /// Records with operations that are not acknowledged.
  private static func unfinished(_ world: World) throws -> Set<String> {
    var uuids: Set<String> = []
    for seat in world.seats {
      let device = try OpenDevice(seat, url: world.url)
      defer { device.close() }
      uuids.formUnion(
        try device.read { connection in
          try connection.fetch("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
        })
    }
    return uuids
  }
}
