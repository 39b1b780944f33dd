import TestSupport
import VaultStore

extension SimulatedWorld {
  /// A user chooses device-only mode for a while. Nothing may be sent meanwhile.
  func chooseDeviceOnly() throws {
    let device = changes.random.pick(devices)
    let pause = Int64(changes.random.number(1_000_000..<300_000_000))
    try device.vault.setPreference(.mode, "device")
    network.noteMode(of: device.name, isDeviceOnly: true)
    changes.resumptions.append((device.name, scheduler.now + pause))
    trace.note("change", "\(device.name) is in device-only mode")
  }

  /// A user logs out, goes on writing, and logs in later.
  func logOut() throws {
    let device = changes.random.pick(devices)
    let pause = Int64(changes.random.number(1_000_000..<300_000_000))
    let removed = try device.logout()
    changes.resumptions.append((device.name, scheduler.now + pause))
    trace.note("change", "the user of \(device.name) logs out, \(removed) records are removed")
  }

  /// Lets some devices follow some projects, in a schema with projects.
  func followProjects() throws {
    guard let kind = workload.kind("Project") else { return }
    let hasStatus = kind.others.contains { $0.column == "status" }
    for device in devices where changes.random.chance(0.4) {
      let uuids = try device.read { connection in
        try connection.fetch("SELECT uuid FROM \(identifier: kind.table) ORDER BY uuid", as: String.self)
      }.filter { _ in changes.random.chance(0.5) }
      guard hasStatus || !uuids.isEmpty else { continue }
      let isActive = uuids.isEmpty || changes.random.chance(0.4)
      let value = isActive && hasStatus ? "active" : uuids.joined(separator: ",")
      try device.vault.setPreference(.projects, value)
      changes.resumptions.append((device.name, scheduler.now + Int64(changes.random.number(1_000_000..<300_000_000))))
      trace.note("change", "\(device.name) follows \(value == "active" ? "the active" : "\(uuids.count)") projects")
    }
  }

  /// Ends device-only modes, logs users in, and lets devices follow all projects, if the time has come.
  func resumeDue() throws {
    let time = scheduler.now
    for device in changes.resumptions.filter({ $0.time <= time }).map(\.device) { try resume(device) }
    changes.resumptions.removeAll { $0.time <= time }
  }

  /// Ends all device-only modes, logs all users in, and lets all devices follow all projects. A restored vault may have older
  /// settings and an older token than its device.
  func resumeAll() throws {
    changes.resumptions = []
    for device in devices { try resume(device.name) }
  }

  private func resume(_ name: String) throws {
    guard let device = devices.first(where: { $0.name == name }) else { return }
    if try device.vault.preference(.mode) == "device" {
      network.noteMode(of: name, isDeviceOnly: false)
      try device.vault.setPreference(.mode, "cloud")
      device.wake()
      trace.note("change", "\(name) leaves device-only mode")
    }
    if try device.vault.preference(.projects) != "all" {
      try device.vault.setPreference(.projects, "all")
      trace.note("change", "\(name) follows all projects")
    }
    if device.isLoggedOut { try device.login(token: device.token) }
  }
}
