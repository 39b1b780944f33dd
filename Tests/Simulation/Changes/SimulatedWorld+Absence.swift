import Platform
import SimulatedDisk
import TestSupport

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
    trace.note("change", "the data of the account are away")
    try perform { try await server.start() }
    scheduler.run(until: scheduler.now + Int64(changes.random.number(5_000_000..<120_000_000)))
    try repair()
    try perform { try await server.stop(byPowerCut: false) }
    if Files.exists(path) { try Files.removeTree(path) }
    try moveFolder(hidden, to: path)
    trace.note("change", "the data of the account are back")
    try perform { try await server.start() }
  }

  private func moveFolder(_ path: String, to target: String) throws {
    try Files.rename(path, to: target)
    for path in [path, target] { try Files.syncFolder(Files.parent(of: path)) }
  }
}
