import SimulatedDisk
import TestSupport

/// An upgrade of the schema that reaches one machine after the other.
struct PlannedUpgrade {
  let workload: Workload
  /// Whether all devices need the new version in the end.
  let isForAll: Bool
  /// The machines that have the old version, with the times of their upgrades.
  var times: [String: Int64]
  /// When the server is restored from the backup before its upgrade; `nil` if it is not.
  var rollback: Int64?
}

extension SimulatedWorld {
  /// Plans the next version of the schema for the server and the devices, which get it in any order.
  func planUpgrade() throws {
    // FieldVault ships the schema of the photos; its versions are tested elsewhere.
    guard workload.folder != nil || workload.name.hasPrefix("generated"), changes.upgrade == nil else { return }
    let (later, isForAll) = try SchemaUpgrade.draw(for: workload, &changes.random)
    // Some operators try the server alone for a while.
    let isServerFirst = changes.random.chance(0.4)
    var times = [server.machine.name: scheduler.now + Int64(changes.random.number(0..<60_000_000))]
    for device in devices {
      let first = isServerFirst ? 60_000_000 : 0
      times[device.name] = scheduler.now + Int64(changes.random.number(first..<first + 120_000_000))
    }
    TransactionMeter.begin(Set(later.kinds.map(\.table)))
    changes.upgrade = PlannedUpgrade(workload: later, isForAll: isForAll, times: times)
  }

  /// Gives the server an earlier version of the schema, which it upgrades again later.
  func revertUpgrade(to workload: Workload) throws {
    let (current, earlier) = (try server.workload.schema().schema, try workload.schema().schema)
    guard earlier.migrations.count < current.migrations.count, changes.upgrade?.isForAll == false else { return }
    server.workload = workload
    trace.note("change", "the server has the schema before the upgrade")
    if devices.allSatisfy({ changes.upgrade?.times[$0.name] != nil }), changes.random.chance(0.6) {
      trace.note("change", "the upgrade is abandoned")
      return changes.upgrade = nil
    }
    let time = scheduler.now + Int64(changes.random.number(0..<120_000_000))
    changes.upgrade?.times[server.machine.name] = time
  }

  /// Upgrades the machines whose time has come.
  func upgradeDue() throws {
    let time = scheduler.now
    try upgrade { $0.value <= time }
    guard let rollback = changes.upgrade?.rollback, rollback <= time else { return }
    changes.upgrade?.rollback = nil
    try restoreServerAlone()
  }

  /// Upgrades the server and the devices that still have the old version. A device may keep it unless all need the new one.
  func upgradeRest() throws {
    guard let planned = changes.upgrade else { return }
    let keeps = !planned.isForAll && changes.random.chance(0.3)
    try upgrade { !keeps || $0.key == server.machine.name }
  }

  private func upgrade(_ isDue: ((key: String, value: Int64)) -> Bool) throws {
    guard let planned = changes.upgrade else { return }
    for (name, _) in planned.times.filter(isDue).sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      changes.upgrade?.times[name] = nil
      trace.note("change", "\(name) upgrades the schema")
      if name == server.machine.name { try upgradeServer(planned.workload) }
      for device in devices where device.name == name { try upgrade(device, planned.workload) }
    }
  }

  private func upgrade(_ device: SimulatedDevice, _ workload: Workload) throws {
    try stop(device, byPowerCut: false)
    device.workload = workload
    let before = device.machine.writes
    failDuringUpgrade(device.machine)
    do {
      try device.start(lives: !isSettling)
      changes.upgradeWrites = device.machine.writes - before
    } catch {
      guard device.machine.hasFailed else { throw error }
      faults += 1
      trace.note("change", "the upgrade of \(device.name) is interrupted")
      if device.machine.isOff { try device.machine.restart() }
      device.machine.heal()
      try open(device, lives: !isSettling)
    }
  }

  private func upgradeServer(_ workload: Workload) throws {
    let server = server
    try repair()
    // A device with the old name of a column sends its old value again after a rollback.
    if !isSettling, changes.random.chance(0.4), changes.upgrade?.isForAll == false, server.mirror == nil {
      try backUpServer()
      let time = scheduler.now + Int64(changes.random.number(5_000_000..<60_000_000))
      changes.upgrade?.rollback = time
    }
    try perform { try await server.stop(byPowerCut: false) }
    server.machine.heal()
    server.workload = workload
    if server.mirror == nil { failDuringUpgrade(server.machine) }
    do {
      try perform { try await server.start() }
    } catch {
      guard server.machine.hasFailed else { throw error }
      faults += 1
      trace.note("change", "the upgrade of the server is interrupted")
      if server.machine.isOff { try server.machine.restart() }
      try restartServer(byPowerCut: false)
    }
  }

  /// Lets the disk of a machine fail during its upgrade, or shortly afterwards, in some worlds.
  private func failDuringUpgrade(_ machine: Machine) {
    guard !isSettling, changes.random.chance(0.6) else { return }
    // Most operations only read. Those that change the disk decide what the next start finds.
    let (kinds, operations) =
      changes.random.chance(0.8) ? (Machine.everyWrite, changes.upgradeWrites) : (Machine.everyOperation, 500)
    machine.fail(
      kinds, after: changes.random.number(0..<operations),
      changes.random.pick([simulated_power_cut, simulated_io_error, simulated_full]))
  }
}
