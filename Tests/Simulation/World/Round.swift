import CipherSQL
import TestSupport
import VaultStore
import SyncModel

/// A while of trouble, then quiet, then everything is looked at.
struct Round {
  let world: World
  /// Whether open conflicts are decided before the look, or left open.
  let isResolving: Bool

  func perform(_ random: inout Seeded) async throws {
    var kept: KeptValues?
    if world.workload.hasIncidents, random.chance(0.6) {
      try world.disturb(&random, kills: true)
      kept = try world.incidents.happen(in: world, &random)
    }
    try world.disturb(&random)
    let devices = try world.seats.map { try OpenDevice($0, url: world.url) }
    defer { for device in devices { device.close() } }
    for device in devices {
      try device.read { connection in
        try StoreCheck(device: device, connection: connection).check(isQuiet: false)
        try PhotoCheck.checkFolder(device, connection)
      }
    }
    do {
      try await Quiet(
        devices: devices, resolves: isResolving, depth: world.workload.depth, mayDiffer: kept != nil
      ).settle(&random)
      if world.workload.hasPhotos { try await PhotoQuiet(devices: devices).settle() }
    } catch let violation as Violation {
      throw try explained(violation, devices)
    }
    try await check(devices, kept)
    for seat in world.seats { try SecrecyCheck.check(DeviceVault.vault(seat.folder)) }
  }

  private func check(_ devices: [OpenDevice], _ kept: KeptValues?) async throws {
    guard let first = devices.first else { return }
    let digests: EntityDigests
    do {
      digests = try await first.remote.digests(projects: [])
    } catch {
      throw Violation(5, "the server tells no digests: \(error)")
    }
    try look(devices, digests, kept)
  }

  private func history(_ server: Connection, _ devices: [OpenDevice]) throws -> HistoryCheck {
    var handled: Set<String> = []
    var resent = world.incidents.resent
    // A policy may choose the old value of a record, too, when a restored server does not know the device's epoch.
    for device in devices where world.workload.hasIncidents { resent.formUnion(try device.decidedWithoutBase()) }
    for seat in world.seats {
      for entry in try Journal.read(DeviceVault.journal(seat.folder)).entries {
        if [.delete, .revive, .decide].contains(entry.kind) { handled.insert(entry.uuid) }
        // Whose epoch a restored server does not know has a conflict, and its old value may be chosen.
        if entry.kind == .decide, world.workload.hasIncidents { resent.insert(entry.uuid) }
      }
    }
    return HistoryCheck(
      history: try world.store.history(in: server), connection: server, operations: world.proxy.operations,
      handled: handled, resent: resent)
  }

  private func explained(_ violation: Violation, _ devices: [OpenDevice]) throws -> Violation {
    let database = try world.store.open()
    defer { database.close() }
    return try database.read { server in
      let history = try history(server, devices)
      let state = StateOfRecord(devices: devices, server: server, history: history, workload: world.workload)
      return Violation(violation.statement, violation.details + (try explanation(of: violation, state)))
    }
  }

  private func look(_ devices: [OpenDevice], _ digests: EntityDigests, _ kept: KeptValues?) throws {
    let database = try world.store.open()
    defer { database.close() }
    try database.read { server in
      let history = try history(server, devices)
      let state = StateOfRecord(devices: devices, server: server, history: history, workload: world.workload)
      try explaining(state) {
        for device in devices {
          try device.read { connection in
            let check = StoreCheck(device: device, connection: connection)
            try check.check(isQuiet: true)
            try check.checkEnd()
          }
        }
        try history.check()
        try checkJournals(devices, history)
        try kept?.check(
          devices, history.history, lost: world.incidents.lostHistories, isHandled: history.isHandled)
        guard world.workload.hasPhotos else { return }
        world.lostPhotos += try PhotoCheck(
          devices: devices, server: try ServerFiles.settled(world.server.data), isHandled: history.isHandled,
          taken: try PhotoCheck.taken(devices)
        ).check()
      }
      try AgreementCheck(devices: devices, server: server, digests: digests, state: state).check()
    }
  }

  private func checkJournals(_ devices: [OpenDevice], _ history: HistoryCheck) throws {
    var markers: [String: Set<String>] = [:]
    var deleted = world.incidents.lostTombstones.union(try world.store.tombstones(in: history.connection))
    for version in world.incidents.lostHistories.joined() + history.history {
      markers[version.uuid, default: []].insert(version.marker ?? "")
      if version.isDeleted { deleted.insert(version.uuid) }
    }
    var restored: [String: Set<String>] = [:]
    for seat in world.seats {
      let entries = try Journal.read(DeviceVault.journal(seat.folder)).entries
      restored[seat.name] = Set(entries.filter { $0.kind == .revive }.map(\.uuid))
    }
    for device in devices {
      let others = restored.filter { $0.key != device.seat.name }.values
      try device.read { connection in
        try JournalCheck(
          device: device, connection: connection, markers: markers, deletedAtServer: deleted,
          resent: world.incidents.resent, restoredElsewhere: others.reduce(into: []) { $0.formUnion($1) }
        ).check()
      }
    }
  }

  /// A violation that names records without saying all about them gets that added.
  private func explaining(_ state: StateOfRecord, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let violation as Violation where violation.statement != 6 {
      throw Violation(violation.statement, violation.details + (try explanation(of: violation, state)))
    }
  }

  private func explanation(of violation: Violation, _ state: StateOfRecord) throws -> [String] {
    var lines: [String] = []
    var seen: Set<String> = []
    for detail in violation.details {
      let words = detail.split(whereSeparator: { $0 == " " || $0 == ":" }).map(String.init)
      for (type, uuid) in zip(words, words.dropFirst())
      where uuid.count == 36 && seen.count < 4 && seen.insert(uuid).inserted {
        lines += try state.lines(type, uuid)
      }
    }
    return lines
  }
}
