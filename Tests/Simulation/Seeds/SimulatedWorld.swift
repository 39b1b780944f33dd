import CipherSQL
import Platform
import SQLCipherStorage
import SimulatedDisk
import SyncModel
import TestSupport
import VaultStore

/// The counts of one simulated world.
struct WorldResult {
  var traceHash: UInt64 = 0
  var devices = 0
  /// The number of records that people have written, each time counted.
  var operations = 0
  /// Whether it has the size of a counted world: 4 devices with 60 operations each, and 5 faults.
  var isCounted = false
  var faults = 0
  var counts: [String: Int] = [:]
  /// The violation, or the defect of the simulator; `nil` if all invariants hold.
  var failure: (any Error)?
}

/// Some devices and a server from one seed: a time of work and faults, then quiet, then the checks.
final class SimulatedWorld {
  private let seed: UInt64
  let template: Template
  let templates: Templates
  let scheduler: Scheduler
  let trace: Trace
  /// The schema at the beginning.
  let workload: Workload
  let server: SimulatedServer
  let network: SimulatedNetwork
  private(set) var devices: [SimulatedDevice] = []
  var random: Seeded
  var faults = 0
  var incidents = Incidents()
  /// The photos that users take; `nil` in worlds without photos.
  let album: PhotoAlbum?
  var changes: PlannedChanges
  /// Whether faults and work have ended.
  var isSettling = false
  /// The program that fills fields beside the server; `nil` in worlds without one.
  private(set) var service: SimulatedService?
  /// The disk for the temporary files of SQLite. Its configuration keeps them in memory.
  private let temporary: Machine
  /// The API that the devices share in place of the server; `nil` in worlds with a server.
  let api: SimulatedAPI?
  private let scale: WorldScale

  init(seed: UInt64, scale: WorldScale = WorldScale(), templates: Templates, prints: Bool) throws {
    (self.seed, self.scale, self.templates) = (seed, scale, templates)
    random = Self.generator(seed)
    scheduler = Scheduler(Seeded(seed, "order", 0))
    let scheduler = scheduler
    trace = Trace(prints: prints) { scheduler.now }
    changes = PlannedChanges(
      Seeded(seed, "changes", 0), with: scale.with,
      without: Set(scale.without.compactMap { Change(rawValue: $0.rawValue) }))
    let machine = try Machine("server", in: scheduler, seed: Seeded(seed, "server", 0).first)
    api = SimulatedAPI.draw(seed, scale.remote, machine, trace)
    workload = Self.workload(seed, scale, &random)
    template = try templates.template(workload)
    TransactionMeter.begin(Set(workload.kinds.map(\.table)))
    temporary = try Machine(TemporaryFiles.disk, in: scheduler, seed: seed)
    SecrecyCheck.watch(temporary)
    server = SimulatedServer(machine, workload, trace)
    server.token = template.serviceToken
    network = SimulatedNetwork(scheduler, trace, api ?? server, Seeded(seed, "network", 0))
    var photos = Seeded(seed, "photos", 0)
    let mayHavePhotos = workload.name == "restoration" && photos.chance(0.75)
    let hasPhotos = (mayHavePhotos || scale.alwaysHasPhotos) && !scale.without.contains(.photo)
    album =
      hasPhotos
      ? try PhotoAlbum(
        in: scheduler, losesPower: !scale.without.contains(.power), photos, others: Seeded(seed, "contents", 0))
      : nil
    (server.fileLimit, network.bodyLimit) = (album?.limit, album?.bodyLimit)
    try Self.copy(template.data, server.path)
    if scale.isMirrored, api == nil {
      let mirror = PostgresMirror(machine, trace, seed: seed)
      try mirror.create(like: server, template)
      server.mirror = mirror
    }
    let count = random.pick(api == nil ? [4, 4, 4, 4, 4, 4, 4, 4, 5, 6] : [1, 2, 2, 3, 4])
    for number in 0..<(scale.devices ?? count) {
      let device = try addDevice(token: template.tokens[number])
      if random.chance(0.35), has(.clock) {
        device.machine.clockError = Int64(random.number(-10..<11)) * 86_400_000
        if random.chance(0.5) { device.enteredTimeError = random.number(-10..<11) * 86_400 }
      }
      try Self.copy(template.vault, device.path)
    }
    incidents.circumstances.retention = [.start]
    var limits = Seeded(seed, "limits", 0)
    if limits.chance(0.25), api == nil { network.pageSize = limits.number(3..<40) }
    if limits.chance(0.15), has(.network) { network.pushLimit = limits.number(3_000..<30_000) }
    incidents.keyChanges = Seeded(seed, "keys", 0)
    if workload.kind(SimulatedService.entity) != nil, changes.random.chance(0.7), has(.service) {
      service = try SimulatedService(
        server.machine, token: template.serviceToken, network, trace, Seeded(seed, "service", 0))
    }
    watchMembers()
    trace.note("world", "\(workload.name), \(devices.count) devices\(hasPhotos ? ", photos" : "")")
  }

  static func generator(_ seed: UInt64) -> Seeded { Seeded(seed, "world", 0) }

  /// Draws the workload of a world.
  /// - Parameter random: the generator of the world, from its beginning.
  static func workload(_ seed: UInt64, _ scale: WorldScale, _ random: inout Seeded) -> Workload {
    let drawn = Workload.draw(&random)
    if SimulatedAPI.generator(seed, scale.remote) != nil { return .rest }
    if let named = Workload.simulated.first(where: { $0.name == scale.workload }) { return named }
    return scale.alwaysHasPhotos ? .withPhotos : drawn
  }

  /// Adds a device without a vault.
  func addDevice(token: String) throws -> SimulatedDevice {
    let number = devices.count + 1
    let machine = try Machine("d\(number)", in: scheduler, seed: Seeded(seed, "device", number).first)
    SecrecyCheck.watch(machine)
    let device = SimulatedDevice(
      machine, workload, token: token, mostWrites: scale.writes, album: album, routes: api?.style.routeFile, network,
      trace, Seeded(seed, "person", number), reports: Seeded(seed, "reports", number))
    devices.append(device)
    return device
  }

  private static func copy(_ source: String, _ target: String) throws {
    guard simulated_disk_copy(source, target) == 0 else { throw SimulatorDefect("\(source) cannot be copied") }
  }

  /// Whether the world has a kind of fault.
  func has(_ fault: WorldScale.Fault) -> Bool { !scale.without.contains(fault) }

  /// Prints the state of a record on each device whenever it changes.
  func watch(_ uuid: String) {
    var known: [String: String] = [:]
    scheduler.afterJob = { [unowned self] in
      for device in devices where device.isRunning && !device.machine.isOff {
        let state: String
        do { state = try device.state(of: uuid) } catch { continue }
        guard known.updateValue(state, forKey: device.name) != state else { continue }
        say("  \(device.name) has \(state)")
      }
    }
  }

  func run() -> WorldResult {
    var result = WorldResult()
    do {
      try live()
      try settle()
    } catch {
      result.failure = error
    }
    do {
      try end()
    } catch {
      result.failure = result.failure ?? error
    }
    result.traceHash = trace.hash
    result.devices = devices.count
    result.operations = devices.reduce(0) { $0 + $1.writes }
    result.faults = faults + network.faults
    result.isCounted = result.faults >= 5 && devices.count { $0.writes >= 60 } >= 4
    trace.tally("operation sent", network.operations.count)
    result.counts = trace.counts
    return result
  }

  // MARK: Work and faults

  private func live() throws {
    let server = server
    if let api { api.start() } else { try perform { try await server.start() } }
    for device in devices { try device.start(lives: true) }
    service?.start()
    // On a slow network a round sends what a user wrote meanwhile. A fast one has a round for nearly every transaction.
    network.delay = random.pick([5_000, 200_000, 1_500_000, 1_500_000, 4_000_000, 4_000_000])
    let shareOffline = random.pick([0.1, 0.3, 0.5])
    // Copies of vaults, which come later, do not make a world longer.
    let first = devices.count
    while devices[..<first].contains(where: { $0.writes < scale.writes }) {
      network.trouble = has(.network) ? random.pick([0, 0.02, 0.2, 0.5]) : 0
      let hasCommonFate = api == nil && has(.network) && random.chance(0.1)
      network.commonFate = hasCommonFate ? random.pick(SimulatedNetwork.commonFates) : nil
      network.offline = has(.offline) ? Set(devices.map(\.name).filter { _ in random.chance(shareOffline) }) : []
      if !network.offline.isEmpty { faults += 1 }
      try plan()
      scheduler.run(until: scheduler.now + Int64(random.number(500_000..<20_000_000)))
      network.commonFate = nil
      try repair()
      try noteIdentities()
      try disturbFiles()
      try loseLastPhotos()
      if has(.incident), api == nil, random.chance(0.15) { try backUpSome() }
      if has(.incident), api == nil, random.chance(0.06) {
        faults += 1
        try notingReplacedFiles { try happen() }
      }
      if api == nil { try change() }
      if api == nil, random.chance(0.04) { try sendBadRequests() }
    }
  }

  /// The share of the writes that people have done.
  var shareOfWork: Double {
    Double(devices.reduce(0) { $0 + $1.writes }) / Double(max(devices.count * scale.writes, 1))
  }

  /// Begins one fault, or none.
  private func plan() throws {
    switch random.number(0..<10) {
    case 0, 1:
      let device = random.pick(devices)
      guard has(.power) else { return }
      if random.chance(0.5) { return failAtResponse(device, simulated_power_cut) }
      device.machine.fail(Machine.everyOperation, after: random.number(0..<3_000), simulated_power_cut)
    case 2:
      let device = random.pick(devices)
      guard has(.disk) else { return }
      if random.chance(0.5) { return failAtResponse(device, random.pick([simulated_io_error, simulated_full])) }
      device.machine.fail(
        random.pick([Machine.everyOperation, [simulated_write], [simulated_sync]]), after: random.number(0..<600),
        random.pick([simulated_io_error, simulated_full]))
    case 3:
      guard has(.power), api == nil, server.mirror == nil else { return }
      server.machine.fail(Machine.everyOperation, after: random.number(0..<3_000), simulated_power_cut)
    case 4:
      guard has(.disk), api == nil, server.mirror == nil else { return }
      server.machine.fail(
        random.pick([Machine.everyOperation, [simulated_write], [simulated_sync]]), after: random.number(0..<600),
        random.pick([simulated_io_error, simulated_full]))
    case 5:
      let machine = random.pick(devices.map(\.machine) + [server.machine])
      if has(.clock) { jump(machine) }
    case 6:
      guard has(.restart) else { return }
      try restart(random.pick(devices), byPowerCut: has(.power) && random.chance(0.5))
    case 7:
      guard has(.restart), api == nil else { return }
      try restartServer(byPowerCut: has(.power) && random.chance(0.5) && server.mirror == nil)
    default: break
    }
  }

  /// Lets the disk of a device fail while it stores the next response.
  private func failAtResponse(_ device: SimulatedDevice, _ fault: simulated_fault) {
    let count = random.number(0..<40)
    network.atResponse[device.name] = { device.machine.fail([simulated_write, simulated_sync], after: count, fault) }
  }

  private func jump(_ machine: Machine) {
    faults += 1
    if random.chance(0.2) {
      machine.stoppedAt = machine.stoppedAt == nil ? machine.wall : nil
      trace.note("clock", "\(machine.name) \(machine.stoppedAt == nil ? "runs" : "stops")")
    } else {
      let change = Int64(random.number(-2_000_000..<2_000_000)) * random.pick([1, 60, 3_600])
      machine.clockError += change
      if machine.name == server.machine.name, change > 0 { incidents.circumstances.setsServerForward = true }
      trace.note("clock", "\(machine.name) jumps")
    }
  }

  /// Restarts the programs that have met a fault of their disk, and heals the disks.
  func repair() throws {
    if let violation = network.violation ?? service?.violation ?? api?.violation ?? server.mirror?.violation
      ?? server.membershipWatch?.violation
    {
      throw violation
    }
    for machine in devices.map(\.machine) + [temporary] { try SecrecyCheck.checkWrites(to: machine) }
    try TransactionMeter.check()
    network.atResponse = [:]
    for device in devices {
      if let violation = device.violation { throw violation }
      let machine = device.machine
      if machine.hasFailed || device.hasMetFault {
        faults += 1
        trace.tally("fault: \(machine.isOff ? "power of a device" : "disk of a device")")
        try restart(device, byPowerCut: machine.isOff || random.chance(0.3))
      }
      machine.heal()
    }
    if server.machine.hasFailed {
      faults += 1
      trace.tally("fault: \(server.machine.isOff ? "power of the server" : "disk of the server")")
      try restartServer(byPowerCut: server.machine.isOff || random.chance(0.3))
    }
    server.machine.heal()
  }

  func perform(_ body: @escaping @Sendable () async throws -> Void) throws {
    guard try scheduler.finish(within: 3_600_000_000, body) != nil else {
      throw SimulatorDefect("a program does not end within an hour")
    }
  }

  func stop(_ device: SimulatedDevice, byPowerCut: Bool) throws {
    try perform { try await device.stop(byPowerCut: byPowerCut) }
    device.machine.heal()
  }

  /// Lets the user and the worker of a device end. Its vault stays open.
  func rest(_ device: SimulatedDevice) throws { try perform { await device.rest() } }

  private func restart(_ device: SimulatedDevice, byPowerCut: Bool) throws {
    try stop(device, byPowerCut: byPowerCut)
    try open(device, lives: true)
  }

  /// Opens the vault of a device.
  /// - Parameters:
  ///   - lives: whether the person acts and the worker runs.
  ///   - hasPerson: whether the person acts.
  func open(_ device: SimulatedDevice, lives: Bool, hasPerson: Bool = true) throws {
    do {
      try device.start(lives: lives, hasPerson: hasPerson)
    } catch {
      throw Violation(7, "the vault of \(device.name) does not open: \(error)")
    }
  }

  func restartServer(byPowerCut: Bool) throws {
    let server = server
    try perform { try await server.stop(byPowerCut: byPowerCut) }
    // A planned power cut may have happened while the program stopped.
    if server.machine.isOff { try server.machine.restart() }
    server.machine.heal()
    do {
      try perform { try await server.start() }
    } catch {
      throw Violation(7, "the data of the server does not open: \(error)")
    }
  }

  private func end() throws {
    let server = server
    try stopService()
    if let api { try perform { await api.stop() } }
    for device in devices { try perform { try await device.stop(byPowerCut: false) } }
    try perform { try await server.stop(byPowerCut: false) }
    scheduler.clear()
    for machine in devices.map(\.machine) + [server.machine, temporary] { try machine.remove() }
    try album?.camera.remove()
  }
}

extension Seeded {
  /// The first number of the generator.
  var first: UInt64 {
    var copy = self
    return copy.next()
  }
}
