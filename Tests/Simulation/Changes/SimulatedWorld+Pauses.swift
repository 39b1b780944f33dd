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

  /// Ends device-only modes and logs users in whose time has come.
  func resumeDue() throws {
    let time = scheduler.now
    for device in changes.resumptions.filter({ $0.time <= time }).map(\.device) { try resume(device) }
    changes.resumptions.removeAll { $0.time <= time }
  }

  /// Ends all device-only modes and logs all users in. A restored vault may have an older mode and token than its device.
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
    if device.isLoggedOut { try device.login(token: device.token) }
  }
}
