import CipherSQL
import Platform
import SimulatedDisk
import SyncEngine
import TestSupport
import VaultStore

extension SimulatedWorld {
  /// Takes the data of the account away for a while, like a volume that is not mounted, while the devices go on. The server
  /// must not take the account for an empty one.
  func hideAccount() throws {
    try repair()
    let server = server
    let accounts = server.path + "/accounts"
    guard let account = try Files.names(in: accounts).first else { return }
    let (path, hidden) = ("\(accounts)/\(account)", "\(server.machine.root)/absent")
    try perform { try await server.stop(byPowerCut: false) }
    try moveFolder(path, to: hidden)
    network.lacksAccount = true
    trace.note("change", "the data of the account are away")
    try perform { try await server.start() }
    scheduler.run(until: scheduler.now + Int64(changes.random.number(5_000_000..<120_000_000)))
    try repair()
    try perform { try await server.stop(byPowerCut: false) }
    if Files.exists(path) { try Files.removeTree(path) }
    try moveFolder(hidden, to: path)
    network.lacksAccount = false
    trace.note("change", "the data of the account are back")
    try perform { try await server.start() }
  }

  /// Replaces the data of the account by those of an empty account in the same epoch for a while. Each device must ask before
  /// it deletes its records.
  func emptyAccount() throws {
    // Another epoch would show that data are missing.
    guard incidents.kept.isEmpty else { return }
    // The devices of an account with members take the empty account for the loss of all memberships.
    if try isLimitedToMembers() { try setMembership(false) }
    try repair()
    let server = server
    let accounts = server.path + "/accounts"
    guard let account = try Files.names(in: accounts).first else { return }
    let (path, hidden) = ("\(accounts)/\(account)", "\(server.machine.root)/absent")
    try resumeAll()
    for device in devices { try rest(device) }
    // A device that compares itself with the empty account drops operations whose response it lacks.
    try noteUnfinished()
    for device in devices { try stop(device, byPowerCut: false) }
    try perform { try await server.stop(byPowerCut: false) }
    try moveFolder(path, to: hidden)
    guard simulated_disk_copy("\(template.data)/accounts/\(account)", path) == 0 else {
      throw SimulatorDefect("the empty account cannot be copied")
    }
    trace.note("change", "the account is empty")
    let (trouble, offline) = (network.trouble, network.offline)
    (network.trouble, network.offline) = (0, [])
    try perform { try await server.start() }
    for device in devices where changes.random.chance(0.7) {
      try open(device, lives: false)
      let before = try sharedRecords(of: device)
      try perform { _ = try await device.round(RoundRequest(pushes: false, isFull: true)) }
      let deleted = before.subtracting(try sharedRecords(of: device)).count
      // What needs no consent: 20 records, or 5 %.
      guard deleted <= max(20, before.count / 20) else {
        throw Violation(6, "\(device.name) deletes \(deleted) of \(before.count) records without a question")
      }
    }
    (network.trouble, network.offline) = (trouble, offline)
    for device in devices { try stop(device, byPowerCut: false) }
    try perform { try await server.stop(byPowerCut: false) }
    // A late push may have reached the empty account.
    incidents.circumstances.misplaced.formUnion(try server.history().versions.map(\.uuid))
    try Files.removeTree(path)
    try moveFolder(hidden, to: path)
    trace.note("change", "the data of the account are back")
    // A device that compared itself has deleted up to 20 records without a question. The next comparison fetches them.
    incidents.mayDiffer = true
    try perform { try await server.start() }
    for device in devices { try open(device, lives: true) }
  }

  /// The records that a device shares with the server and has not edited. A policy may decide about the others.
  private func sharedRecords(of device: SimulatedDevice) throws -> Set<String> {
    try device.read { connection in
      try device.workload.kinds.reduce(into: []) { uuids, kind in
        uuids.formUnion(
          try connection.fetch(
            "SELECT uuid FROM \(identifier: kind.table) WHERE syncVersion > 0 AND isDeleted = 0 AND isDirty = 0",
            as: String.self))
      }
    }
  }

  private func moveFolder(_ path: String, to target: String) throws {
    try Files.rename(path, to: target)
    for path in [path, target] { try Files.syncFolder(Files.parent(of: path)) }
  }
}
