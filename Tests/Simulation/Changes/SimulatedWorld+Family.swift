import TestSupport
import VaultStore

extension SimulatedWorld {
  /// A user records hundreds of dependents of one record. In some worlds another user, who has no network meanwhile, takes the
  /// unique values of the record, so that record and dependents wait on the other device until that user takes other values.
  /// In the other worlds the record is deleted with all dependents.
  func raiseFamily() throws {
    try repair()
    let device = changes.random.pick(devices)
    let others = devices.filter { $0.name != device.name }
    let rival = others.isEmpty || changes.random.chance(0.4) ? nil : changes.random.pick(others)
    let count = changes.random.number(1_100..<1_600)
    network.trouble = 0
    network.offline = Set([rival?.name].compactMap { $0 })
    guard
      let family = try act(as: device, { person in try person.raiseFamily(of: count, isUnique: rival != nil) })
    else { return }
    trace.note("change", "\(device.name) raises a family of \(count)")
    try letSync()
    if let rival, !family.uniqueValues.isEmpty {
      guard let uuid = try act(as: rival, { person in try person.raiseRival(of: family) }) else { return }
      trace.note("change", "\(rival.name) takes the unique values of its record")
      network.offline = []
      try letSync()
      try act(as: rival) { person in try person.renew(uuid, of: family) }
      trace.note("change", "\(rival.name) takes other values")
      return try letSync()
    }
    network.offline = []
    try letSync()
    try act(as: device) { person in try person.delete(family) }
    trace.note("change", "\(device.name) deletes the family")
    try letSync()
  }

  private func letSync() throws {
    scheduler.run(until: scheduler.now + 300_000_000)
    try repair()
  }

  /// Lets a user write beside the usual work.
  private func act<Result>(as device: SimulatedDevice, _ body: (inout Person) throws -> Result) throws -> Result {
    try rest(device)
    var person = device.person(changes.random.next())
    let result = try TransactionMeter.asUser { try body(&person) }
    try device.goOn()
    return result
  }
}
