import CipherSQL
import Platform
import SQLCipherStorage
import SimulatedDisk
import SyncModel
import TestSupport
import VaultStore

extension SimulatedWorld {
  /// Ends faults and work, lets the devices sync, and checks them.
  func settle() throws {
    network.trouble = 0
    network.offline = []
    network.delay = 2_000
    let (server, devices, network) = (server, devices, network)
    let resolves = random.chance(0.5)
    try stopService()
    try repair()
    try bringFileBack()
    for machine in devices.map(\.machine) + [server.machine] { machine.stoppedAt = nil }
    isSettling = true
    try resumeAll()
    try renewTokens()
    try upgradeRest()
    for device in devices {
      // Only the opening of a vault removes everything that faults have left in its folder.
      if album != nil || random.chance(0.25) {
        try stop(device, byPowerCut: false)
        try open(device, lives: false)
      } else {
        try rest(device)
      }
      try device.read { try StoreCheck(device: device, connection: $0).check(isQuiet: false) }
      if album != nil { try device.read { try PhotoCheck.checkFolder(device, $0) } }
      try SecrecyCheck.checkFiles(of: device.machine)
    }
    trace.note("world", "is quiet")
    trace.tally("schema: \(workload.name)")
    if let api { return try settle(with: api, resolves: resolves) }
    try settleMembers(resolves: resolves)
    let endCheck = endCheck
    let seed = random.next()
    let shared = OneThread(
      value: (
        Quiet(devices: devices, resolves: resolves, depth: workload.depth, mayDiffer: incidents.mayDiffer),
        album.map { _ in PhotoQuiet(devices: devices) }, endCheck
      ))
    let digests = try scheduler.finish(within: 48 * 3_600_000_000) {
      var random = Seeded(seed)
      do {
        try await shared.value.0.settle(&random)
        try await shared.value.1?.settle()
      } catch let violation as Violation {
        throw try network.violation ?? shared.value.2.explained(violation)
      }
      return try await devices[0].digests()
    }
    guard let digests else { throw Violation(5, "the devices do not become quiet in two days") }
    try probeReusedKey()
    try probeOldBase()
    try perform { try await server.stop(byPowerCut: false) }
    try markRetention()
    for device in devices { try tallyConflicts(of: device) }
    try self.endCheck.check(digests, incidents.kept) { try self.checkPhotos($0) }
    try checkSweep()
    try TransactionMeter.check()
  }

  /// Sends other content under the key of an operation that the server has stored.
  private func probeReusedKey() throws {
    let database = try server.store.open()
    defer { database.close() }
    let responses = try database.read { connection in
      try connection.fetchRows(
        "SELECT idempotencyKey, answer FROM ServerAnswer ORDER BY 1", as: String.self, String.self)
    }
    // The service has a token of its own.
    let operations = responses.compactMap { key, response in
      network.changedKeys.contains(key) ? nil : network.operations[key].map { (operation: $0, response: response) }
    }.filter { !$0.operation.operationId.hasPrefix("service") }
    guard !operations.isEmpty else { return }
    let (operation, response) = random.pick(operations)
    let isStored =
      switch try PushResult(wire: SyncValue(parsing: response)).outcome {
      case .accepted, .merged: true
      case .conflict, .rejected, .waiting: false
      }
    let probe = OneThread(value: ReusedKeyProbe(device: devices[0], operation: operation, isStored: isStored))
    try perform { try await probe.value.check() }
  }

  /// Sends an edit on a base of the epoch before.
  private func probeOldBase() throws {
    guard let version = try server.workload.schema().schema.migrations.last?.version else { return }
    let manual = try devices[0].read { connection in
      try connection.fetch("SELECT entityType FROM SyncedEntity WHERE conflictPolicy = 'manual'", as: String.self)
    }
    let database = try server.store.open()
    defer { database.close() }
    let time = server.machine.environment.now
    let operations = try database.read { connection in
      try OldBaseProbe.operations(
        server.workload.kinds.filter { manual.contains($0.entity) }, at: connection, schemaVersion: Int64(version),
        time: time)
    }
    guard !operations.isEmpty else { return }
    trace.tally("base of another epoch")
    let probe = OneThread(value: OldBaseProbe(device: devices[0], operation: random.pick(operations)))
    try perform { try await probe.value.check() }
  }

  func tallyConflicts(of device: SimulatedDevice) throws {
    let kinds = try device.read { connection in
      try connection.fetchRows(
        "SELECT conflictType, coalesce(resolution, 'open'), count(*) FROM OfflineConflictResolution GROUP BY 1, 2",
        as: String.self, String.self, Int.self)
    }
    for (kind, resolution, count) in kinds { trace.tally("conflict: \(kind) \(resolution)", count) }
  }

  /// The check with all operations that devices have sent so far.
  var endCheck: EndCheck {
    var circumstances = incidents.circumstances
    circumstances.operations = network.operations.filter { $0.key != OldBaseProbe.key }
    circumstances.senders = network.senders
    if let watch = server.membershipWatch {
      circumstances.referringToHidden = watch.referringToHidden
      for device in devices { circumstances.left[device.name] = watch.hidden[device.user] }
    }
    return EndCheck(
      devices: devices, workload: server.workload, store: server.store, circumstances: circumstances, service: service)
  }

  func stopService() throws {
    guard let service else { return }
    try perform { await service.stop() }
  }
}
