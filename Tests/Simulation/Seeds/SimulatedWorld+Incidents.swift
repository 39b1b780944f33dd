import CipherSQL
import Platform
import SQLCipherStorage
import SimulatedDisk
import SyncServer
import TestSupport
import VaultStore

extension SimulatedWorld {
  /// What incidents leave for later ones and for the checks.
  struct Incidents {
    var circumstances = Circumstances()
    /// Whether the first comparison may find differences.
    var mayDiffer = false
    /// The values that devices and server must have afterwards, one for each loss of the server.
    var kept: [KeptValues] = []
    /// The backups of vaults by device, with the length of the journal.
    var vaultBackups: [String: (path: String, entries: Int)] = [:]
    var serverBackup: (path: String, workload: Workload)?
    var serverBackups = 0
    /// Decides about rotations and their faults.
    var keyChanges = Seeded(0)
  }

  /// Performs one incident while the devices do not run.
  func happen() throws {
    if has(.network), random.chance(0.6) { try holdPushes() }
    trace.note("world", "stops for an incident")
    for device in devices {
      if random.chance(0.15) {
        try stop(device, byPowerCut: true)
        try open(device, lives: false)
      } else {
        try rest(device)
      }
    }
    try beginIncident()
    switch random.number(0..<10) {
    case 0, 1: try copyVault()
    case 2, 3: try restoreVault()
    case 4, 5: try restoreServer()
    case 6: try startEpoch()
    case 7: try rotate()
    case 8:
      try copyVault()
      try restoreServer()
    default:
      try restoreVault()
      try restoreServer()
    }
    try goOn()
  }

  /// Lets devices write for some seconds while a proxy holds their pushes, which arrive after the incident.
  private func holdPushes() throws {
    network.holdsPushes = true
    scheduler.run(until: scheduler.now + Int64(random.number(500_000..<5_000_000)))
    network.holdsPushes = false
    try repair()
  }

  /// Restores the server from a backup, while the devices do not run, and goes on.
  func restoreServerAlone() throws {
    for device in devices { try rest(device) }
    try beginIncident()
    try restoreServer()
    try goOn()
  }

  func beginIncident() throws {
    // In another epoch, an operation in flight is sent under another key.
    try noteUnfinished()
    incidents.circumstances.hasIncidents = true
  }

  private func goOn() throws {
    for device in devices { try device.goOn() }
  }

  /// Backs up a vault or the server while they run.
  func backUpSome() throws {
    // A backup that is older lacks more.
    if incidents.serverBackup == nil || random.chance(0.1) { try backUpServer() }
    if random.chance(0.5) { try backUp(random.pick(devices)) }
  }

  private func backUp(_ device: SimulatedDevice) throws {
    let path = device.machine.root + "/backup"
    _ = try device.vault.backUp(to: path)
    incidents.vaultBackups[device.name] = (path, device.journal.entries.count)
    trace.note("incident", "\(device.name) is backed up")
  }

  func backUpServer() throws {
    incidents.serverBackups += 1
    let path = "\(server.machine.root)/backup-\(incidents.serverBackups)"
    _ = try server.folder().backUp(to: path)
    incidents.serverBackup = (path, server.workload)
    trace.note("incident", "the server is backed up")
  }

  /// Records with operations that are not acknowledged.
  func noteUnfinished() throws {
    for device in devices {
      incidents.circumstances.resent.formUnion(
        try device.read { connection in
          try connection.fetch("SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL", as: String.self)
        })
      incidents.circumstances.unanswered.formUnion(
        try device.read { connection in
          try connection.fetch(
            "SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL AND payload IS NOT NULL", as: String.self
          )
        })
    }
  }

  /// Notes the values that devices and server must have after the server has lost its data.
  /// - Parameters:
  ///   - history: the versions of the server.
  ///   - withDeletions: whether deleted records stay deleted.
  func noteKept(_ history: [ServerStore.Version], withDeletions: Bool = true) throws {
    let underway = Set(network.underway.filter { $0.value > 0 }.keys)
    incidents.kept.append(
      try KeptValues(devices, history, underway: underway, withDeletions: withDeletions))
  }

  private func copyVault() throws {
    guard devices.count < Templates.mostUsers else { return }
    let source = random.pick(devices)
    try stop(source, byPowerCut: false)
    let device = try addDevice(token: source.token)
    (device.user, device.workload) = (source.user, source.workload)
    let upgradeTime = changes.upgrade?.times[source.name]
    changes.upgrade?.times[device.name] = upgradeTime
    guard simulated_disk_copy(source.path, device.path) == 0 else { throw SimulatorDefect("a vault cannot be copied") }
    trace.note("incident", "\(device.name) gets a copy of the vault of \(source.name)")
    try open(source, lives: false)
    try open(device, lives: false)
  }

  private func restoreVault() throws {
    if incidents.vaultBackups.isEmpty { try backUp(random.pick(devices)) }
    let device = random.pick(devices.filter { incidents.vaultBackups[$0.name] != nil })
    guard let backup = incidents.vaultBackups[device.name] else { return }
    let id = try device.read { try SyncSettings.value(.deviceId, in: $0) }
    try stop(device, byPowerCut: false)
    incidents.circumstances.restoredVaults.insert(device.name)
    try Files.removeTree(device.path)
    try Vault.restore(
      backup.path, to: device.path, with: SimulatedDevice.secret, configuration: device.machine.configuration)
    // A user who restores a backup discards later writes. Writes that the server had are checked elsewhere.
    for index in backup.entries..<max(backup.entries, device.journal.entries.count) { device.settle(index) }
    for index in incidents.kept.indices { incidents.kept[index].forgetValues(of: device.name) }
    trace.note("incident", "the vault of \(device.name) is restored")
    try open(device, lives: false)
    // The server takes two vaults with one id for one device.
    if let id, try device.read({ try SyncSettings.value(.deviceId, in: $0) }) == id {
      throw Violation(3, "the restored vault of \(device.name) has the device id of the vault before")
    }
    try noteUnfinished()
  }

  private func restoreServer() throws {
    if incidents.serverBackup == nil { try backUpServer() }
    guard let backup = incidents.serverBackup else { return }
    let server = server
    try perform { try await server.stop(byPowerCut: false) }
    // The operator may go back to the program of the backup.
    if changes.upgrade != nil, changes.random.chance(0.6) { try revertUpgrade(to: backup.workload) }
    let schema = try server.workload.schema().schema
    let (old, tombstones) = try server.history()
    try noteKept(old)
    incidents.circumstances.lostHistories.append(old)
    incidents.circumstances.lostTombstones.formUnion(tombstones)
    try checkRetention()
    try Files.removeTree(server.path)
    try perform {
      _ = try await ServerFolder.restore(
        backup.path, to: server.path, shipped: [schema], environment: server.machine.environment)
    }
    let known = Set(try server.history().versions.map { "\($0.uuid) \($0.version)" })
    incidents.circumstances.resent.formUnion(old.filter { !known.contains("\($0.uuid) \($0.version)") }.map(\.uuid))
    trace.note("incident", "the server is restored")
    try resetRetention()
    try perform { try await server.start() }
    // The restored directory has the tokens of its backup.
    network.revoked = []
    try renewTokens()
    try sendOtherContents()
    try sendLostFiles()
  }

  private func startEpoch() throws {
    let (server, schema) = (server, try server.workload.schema().schema)
    try perform { try await server.stop(byPowerCut: false) }
    try noteKept(try server.history().versions)
    try perform {
      let folder = try server.folder()
      let directory = try ServerDirectory(in: folder)
      defer { directory.close() }
      _ = try await folder.startEpochs(directory, shipped: [schema])
    }
    trace.note("incident", "the server starts an epoch")
    try perform { try await server.start() }
  }

  private func rotate() throws {
    try changeKeys(of: random.pick(devices), Seeded(incidents.keyChanges.next()))
  }
}
