import CipherSQL
import Platform
import SQLCipherStorage
import SimulatedDisk
import SyncServer
import TestSupport
import VaultStore

/// An empty vault and an empty server of a schema, which the worlds of this schema copy.
struct Template {
  /// The folders of the vault and of the server's data.
  let vault, data: String
  /// The tokens of the users.
  let tokens: [String]
  /// The token of the program that fills fields beside the server.
  let serviceToken: String
}

/// The templates of a process. Each is made once.
final class Templates {
  private var made: [String: Template] = [:]
  private let machine: Machine

  /// The most devices of a world, with copies of vaults.
  static let mostUsers = 8

  init() throws { machine = try Machine("templates", in: Scheduler(Seeded(1)), seed: 1) }

  /// - Parameter isOther: whether the server is another one than that of the template without this.
  func template(_ workload: Workload, isOther: Bool = false) throws -> Template {
    let name = workload.name + (isOther ? "-other" : "")
    if let template = made[name] { return template }
    let template = try make(workload, name, seed: isOther ? 4 : 3)
    made[name] = template
    return template
  }

  private func make(_ workload: Workload, _ name: String, seed: UInt64) throws -> Template {
    let scheduler = Scheduler(Seeded(2))
    let trace = Trace(prints: false) { 0 }
    let builder = try Machine("template-\(name)", in: scheduler, seed: seed)
    let vault = builder.root + "/job.vault"
    let schema = try workload.schema()
    try Vault.create(
      at: vault, schemas: [schema], secret: SimulatedDevice.secret, configuration: builder.configuration
    ).close()
    let (tokens, serviceToken) = try addUsers(to: builder)
    let server = SimulatedServer(builder, workload, trace)
    _ = try scheduler.finish(within: 60_000_000) {
      try await server.start()
      try await server.stop(byPowerCut: false)
    }
    try server.store.keepHistory()
    let place = "\(machine.root)/\(name)"
    guard mkfolder(place), simulated_disk_copy(vault, place + "/vault") == 0,
      simulated_disk_copy(builder.root + "/data", place + "/data") == 0
    else { throw SimulatorDefect("the template of \(name) cannot be stored") }
    try builder.remove()
    scheduler.clear()
    return Template(vault: place + "/vault", data: place + "/data", tokens: tokens, serviceToken: serviceToken)
  }

  /// Creates the folder of the server with its users. Returns their tokens, and that of a service.
  private func addUsers(to builder: Machine) throws -> (tokens: [String], service: String) {
    var folder = try ServerFolder(builder.root + "/data", isCreating: true)
    folder.environment = builder.environment
    let directory = try ServerDirectory(in: folder)
    defer { directory.close() }
    let tokens = try (1...Self.mostUsers).map { try directory.addUser("d\($0)", account: "one").token }
    return (tokens, try directory.addUser("service", account: "one", role: .service).token)
  }

  private func mkfolder(_ path: String) -> Bool {
    do {
      try Files.makeFolder(path)
      return true
    } catch {
      return false
    }
  }
}
