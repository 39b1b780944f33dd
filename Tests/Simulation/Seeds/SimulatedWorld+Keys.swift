import Platform
import SimulatedDisk
import TestSupport
import VaultKeys
import VaultStore

extension SimulatedWorld {
  /// Changes the keys of a vault while the other devices go on.
  func changeKeys() throws {
    try repair()
    let device = changes.random.pick(devices)
    try stop(device, byPowerCut: false)
    try open(device, lives: false)
    try changeKeys(of: device, Seeded(changes.random.next()))
    try stop(device, byPowerCut: false)
    try open(device, lives: true)
  }

  /// Rotates the keys of a vault whose program runs without its user, or changes its key slots. The disk may fail or lose power
  /// at any operation. The vault and its backup open afterwards.
  func changeKeys(of device: SimulatedDevice, _ random: Seeded) throws {
    var random = random
    let change = random.pick(KeyChange.allCases)
    let moment = change == .slots ? .begin : random.pick(KeyMoment.allCases)
    let fault = random.chance(0.8) ? fault(&random) : nil
    func arm(_ now: KeyMoment) {
      guard now == moment, let fault else { return }
      device.machine.fail(fault.operations, after: fault.after, fault.kind)
    }
    arm(.begin)
    do {
      try change.perform(on: device.vault) { progress in arm(KeyMoment(progress)) }
    } catch {
      guard device.machine.hasFailed else {
        throw Violation(7, "\(device.name) cannot perform \(change.rawValue): \(error)")
      }
    }
    if device.machine.hasFailed {
      faults += 1
      trace.tally("fault: disk during a change of keys")
    } else {
      device.machine.heal()
    }
    trace.note("incident", "\(device.name): \(change.rawValue)\(device.machine.hasFailed ? ", disk fails" : "")")
    try stop(device, byPowerCut: device.machine.isOff || has(.power) && random.chance(0.3))
    try open(device, lives: false)
    let generations = try Files.names(in: device.vault.layout.databases)
    guard generations.count == 1 else {
      throw Violation(7, "\(device.name) keeps the databases \(generations) after a change of keys")
    }
    try checkBackup(of: device)
  }

  private func fault(
    _ random: inout Seeded
  ) -> (operations: [simulated_operation], after: Int, kind: simulated_fault)? {
    let kind = random.pick([simulated_power_cut, simulated_power_cut, simulated_io_error, simulated_full])
    guard has(kind == simulated_power_cut ? .power : .disk) else { return nil }
    // A keyring is written with few operations that change the disk.
    return random.chance(0.6)
      ? (Machine.everyWrite, random.number(0..<12), kind)
      : (Machine.everyOperation, random.number(0..<random.pick([20, 600])), kind)
  }

  /// The keyring of a backup opens its database, whatever happened to the vault since.
  private func checkBackup(of device: SimulatedDevice) throws {
    guard let backup = incidents.vaultBackups[device.name] else { return }
    let path = device.machine.root + "/restored.vault"
    do {
      // After a power cut, a removed folder may be there again.
      if Files.exists(path) { try Files.removeTree(path) }
      try Vault.restore(
        backup.path, to: path, with: SimulatedDevice.secret, configuration: device.machine.configuration)
      try Vault.open(at: path, with: SimulatedDevice.secret, configuration: device.machine.configuration).close()
      try Files.removeTree(path)
    } catch {
      throw Violation(7, "the backup of \(device.name) does not open: \(error)")
    }
  }
}

/// A change of the keyring.
private enum KeyChange: String, CaseIterable {
  case databaseKey = "a new database key"
  case rootKey = "a new root key"
  case slots = "other key slots"

  func perform(on vault: Vault, _ progress: (RotationProgress) -> Void) throws {
    switch self {
    case .databaseKey: _ = try vault.rotateKey(.databaseKey, progress: progress)
    case .rootKey: _ = try vault.rotateKey(.rootKey(keeping: [SimulatedDevice.secret]), progress: progress)
    case .slots:
      let slot = try vault.addSlot(try keyFileSecret(2))
      try vault.removeSlot(slot.id)
    }
  }
}

/// The moment of a rotation from which the operations until a fault count.
private enum KeyMoment: CaseIterable {
  case begin, copying, checking, comparing

  init(_ progress: RotationProgress) {
    switch progress {
    case .copying: self = .copying
    case .checking: self = .checking
    case .comparing: self = .comparing
    }
  }
}
