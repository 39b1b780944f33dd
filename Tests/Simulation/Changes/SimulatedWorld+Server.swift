import Platform
import SimulatedDisk
import TestSupport

extension SimulatedWorld {
  /// Moves all users to another server, which has no records. Devices send all records that they have.
  func moveToOtherServer() throws {
    // Files that only the old server has are lost, and the service has a token of the old server.
    guard album == nil, service == nil, server.mirror == nil else { return }
    try repair()
    for device in devices { try rest(device) }
    try beginIncident()
    let server = server
    try perform { try await server.stop(byPowerCut: false) }
    let (old, tombstones) = try server.history()
    // A device that does not know of a deletion sends the record, which is new to the server.
    try noteKept(old, withDeletions: false)
    incidents.circumstances.lostHistories.append(old)
    incidents.circumstances.lostTombstones.formUnion(tombstones)
    // Each device that has a record sends it, also one that does not know of its deletion yet.
    incidents.circumstances.resent.formUnion(old.map(\.uuid))
    try checkRetention()
    let other = try templates.template(workload, isOther: true)
    try Files.removeTree(server.path)
    guard simulated_disk_copy(other.data, server.path) == 0 else {
      throw SimulatorDefect("the data of another server cannot be copied")
    }
    server.token = other.serviceToken
    // The data of the old server cannot be restored any more.
    incidents.serverBackup = nil
    changes.upgrade?.rollback = nil
    changes.renewals = []
    network.revoked = []
    try resetRetention()
    try perform { try await server.start() }
    trace.note("change", "the users move to another server")
    for (number, device) in devices.enumerated() {
      try device.login(token: other.tokens[number])
      device.user = "d\(number + 1)"
      try device.goOn()
    }
  }
}
