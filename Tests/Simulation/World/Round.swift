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
      throw try endCheck(devices).explained(violation)
    }
    try await check(devices, kept)
    for seat in world.seats { try SecrecyCheck.check(DeviceVault.vault(seat.folder)) }
  }

  private func endCheck(_ devices: [OpenDevice]) -> EndCheck {
    EndCheck(
      devices: devices, workload: world.workload, store: world.store, circumstances: world.circumstances)
  }

  private func check(_ devices: [OpenDevice], _ kept: KeptValues?) async throws {
    guard let first = devices.first else { return }
    let digests: EntityDigests
    do {
      digests = try await first.remote.digests(projects: [])
    } catch {
      throw Violation(5, "the server tells no digests: \(error)")
    }
    try endCheck(devices).check(digests, kept.map { [$0] } ?? []) { history in
      guard world.workload.hasPhotos else { return }
      let files = try ServerFiles.settled(world.server.data)
      try files.checkOrphans()
      world.lostPhotos += try PhotoCheck(
        devices: devices, server: files, content: .large, isHandled: history.isHandled
      ).check()
    }
  }
}
