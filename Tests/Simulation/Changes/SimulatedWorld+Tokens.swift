import SQLCipherStorage
import TestSupport

extension SimulatedWorld {
  /// Revokes the tokens of a user. The user gets a new one after a while.
  func revoke() throws {
    let device = changes.random.pick(devices)
    let directory = try ServerDirectory(in: try server.folder())
    defer { directory.close() }
    guard try directory.revokeUser(device.user) > 0 else { return }
    for other in devices where other.user == device.user { network.revoked.insert(other.token) }
    changes.mayLackTokens = true
    let pause = Int64(changes.random.number(1_000_000..<600_000_000))
    changes.renewals.append((device.user, scheduler.now + pause))
    trace.note("change", "the tokens of \(device.user) are revoked")
  }

  /// Gives users whose time has come new tokens.
  func renewDueTokens() throws {
    let time = scheduler.now
    let due = changes.renewals.filter { $0.time <= time }.map(\.user)
    guard !due.isEmpty else { return }
    changes.renewals.removeAll { $0.time <= time }
    for device in devices where due.contains(device.user) { try renewToken(of: device) }
  }

  /// Gives new tokens to the users whose token the server does not accept. A restored server may have forgotten newer tokens.
  func renewTokens() throws {
    guard changes.mayLackTokens else { return }
    changes.renewals = []
    for device in devices { try renewToken(of: device) }
  }

  private func renewToken(of device: SimulatedDevice) throws {
    let directory = try ServerDirectory(in: try server.folder())
    defer { directory.close() }
    if try directory.member(token: device.token) != nil { return }
    try device.login(token: try directory.addToken(to: device.user).token)
    trace.note("change", "\(device.name) gets a token")
  }
}
