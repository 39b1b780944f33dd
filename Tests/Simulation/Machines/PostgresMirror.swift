import Foundation
import HTTPServer
import Platform
import PostgresStorage
import SQLCipherStorage
import ServerSupport
import SyncModel
import SyncServer
import TestSupport

/// A server on PostgreSQL that executes each request of a simulated server too, at the same time of its clock. All responses
/// have to be equal. Every second seed has sealed values.
///
/// The world needs a server whose disk and power do not fail, because the database has other disks.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class PostgresMirror: @unchecked Sendable {
  /// The cluster of this process.
  private static let cluster = Result {
    guard PostgresServer.isInstalled else { throw Unexpected("--postgresql needs PostgreSQL 15 on this machine") }
    let server = try PostgresServer()
    let name = try server.makeDatabase()
    try PostgresDatabase(PostgresSettings(url: server.url(name))).close()
    let keys = server.folder + "/seal.key"
    _ = try SealKeys.addKey(to: keys)
    return (server: server, database: name, keys: keys)
  }

  /// Whether the database has values of records sealed.
  private let isSealed: Bool
  private let environment: Environment
  private let scheduler: Scheduler
  private let trace: Trace
  private var served: (data: ServedData, database: PostgresDatabase)?
  /// The first response that differs.
  private(set) var violation: Violation?
  private var compared = 0
  private var isExecuting = false

  init(_ machine: Machine, _ trace: Trace, seed: UInt64) {
    (self.trace, scheduler, isSealed) = (trace, machine.scheduler, seed % 2 == 1)
    // The other server draws the numbers of the machine.
    let random = Locked(Seeded(seed))
    environment = Environment(
      clock: machine.environment.clock,
      random: RandomSource { buffer in
        random.withLock { random in
          for place in buffer.indices { buffer[place] = UInt8(truncatingIfNeeded: random.next()) }
        }
      })
  }

  /// Gives the database an account with the users and the epoch of the other server, which has no records yet.
  func create(like server: SimulatedServer, _ template: Template) throws {
    let cluster = try Self.cluster.get()
    let store = try server.store.open()
    defer { store.close() }
    let epochs = try store.read {
      try $0.fetchRows("SELECT epoch, startedAt FROM ServerEpoch ORDER BY number", as: String.self, Int64.self)
    }
    guard let epoch = epochs.first, epochs.count == 1 else {
      throw SimulatorDefect("the server has \(epochs.count) epochs")
    }
    let directory = try ServerDirectory(in: try server.folder())
    defer { directory.close() }
    let account = UUID().uuidString
    var statements = [
      "DELETE FROM fieldvault.token; DELETE FROM fieldvault.member; DELETE FROM fieldvault.job; DELETE FROM fieldvault.account",
      "UPDATE fieldvault.server SET server_uuid = '\(directory.serverUuid)', seal_key = NULL",
      """
      INSERT INTO fieldvault.account (account_id, name, created_at, epochs, epoch_started_at, incarnation)
      SELECT '\(account)', 'one', \(epoch.1), ARRAY['\(epoch.0)'], \(epoch.1), incarnation FROM fieldvault.server
      """,
    ]
    for (index, token) in (template.tokens + [template.serviceToken]).enumerated() {
      let isService = index == template.tokens.count
      let (number, name) = (index + 1, isService ? "service" : "d\(index + 1)")
      statements += [
        "INSERT INTO fieldvault.member OVERRIDING SYSTEM VALUE VALUES ('\(account)', \(number), '\(name)', \(epoch.1))",
        """
        INSERT INTO fieldvault.token (token_id, hash, account_id, user_id, role, created_at) OVERRIDING SYSTEM VALUE
        VALUES (\(number), sha256('\(token)'), '\(account)', \(number), '\(isService ? "service" : "device")', \(epoch.1))
        """,
      ]
    }
    try cluster.server.sql(statements.joined(separator: "; "), database: cluster.database)
  }

  /// Starts the server with the settings of the other one.
  func start(like settings: FieldVaultServer.Settings) throws {
    let cluster = try Self.cluster.get()
    var own = PostgresSettings(url: cluster.server.url(cluster.database))
    own.connections = 2
    if isSealed { own.sealKeys = try SealKeys(file: cluster.keys) }
    let database = try PostgresDatabase(own, environment: environment)
    var settings = settings
    settings.source = .database(database, scratch: "/nowhere")
    settings.log = RequestLog { [trace] line in trace.note("postgresql log", String(line.drop { $0 != " " })) }
    served = (try ServedData(settings), database)
  }

  private static func isWatch(_ request: Request) -> Bool { request.path == "/v1/watch" }

  /// Waits until no other request is being executed, so that both servers execute requests in the same order.
  /// - Returns: whether the servers still run.
  func begin(_ request: Request) async -> Bool {
    if Self.isWatch(request) { return true }
    while isExecuting {
      do { try await scheduler.sleep(1000) } catch { return false }
    }
    guard served != nil else { return false }
    isExecuting = true
    return true
  }

  /// Ends the execution of a request.
  func end(_ request: Request) { if !Self.isWatch(request) { isExecuting = false } }

  /// Executes a request as it arrived, and compares the response with that of the other server.
  func execute(_ request: Request, _ expected: Response) async {
    // A server that stops refuses requests, which have no effect then.
    guard let served, violation == nil, !Self.isWatch(request), expected.status != 503 else { return }
    var request = request
    let admitted = served.data.router.admit(request)
    (request.caller, request.isCounted) = (admitted.caller, admitted.isCounted)
    let response: Response
    switch admitted.admission {
    case .refuse(let refusal): response = refusal
    case .open: return
    case .ignore, .collect: response = await served.data.router.respond(to: request)
    }
    compared += 1
    if response.status == expected.status, response.body == expected.body {
      return trace.tally("response that is equal on PostgreSQL: \(response.status)")
    }
    func text(_ response: Response) -> String { "\(response.status) \(String(decoding: response.body, as: UTF8.self))" }
    violation = Violation(
      3,
      [
        "the response number \(compared) of the server on PostgreSQL differs: \(request.method) \(request.path)",
        "request: \(String(decoding: request.body, as: UTF8.self))", "SQLCipher:  \(text(expected))",
        "PostgreSQL: \(text(response))",
      ])
  }

  /// Ends the server.
  func stop() async {
    guard let served else { return }
    self.served = nil
    served.data.stopWaiting()
    await served.data.close(waitingAtMost: .zero)
    served.database.close()
  }
}
