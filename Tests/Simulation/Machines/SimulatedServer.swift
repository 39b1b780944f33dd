import CipherSQL
import HTTPServer
import Platform
import SQLCipherStorage
import SyncServer
import TestSupport

/// The server program on its machine.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedServer: @unchecked Sendable {
  let machine: Machine
  let workload: Workload
  private let trace: Trace
  private var data: ServedData?
  /// Grows with each start and each crash. A request of an earlier generation has no response.
  private var generation = 0
  private var running = 0

  init(_ machine: Machine, _ workload: Workload, _ trace: Trace) {
    (self.machine, self.workload, self.trace) = (machine, workload, trace)
  }

  var path: String { machine.root + "/data" }
  var isRunning: Bool { data != nil }
  var store: ServerStore { ServerStore(data: path, workload: workload) }

  /// The folder of the data, with the clock of the machine.
  func folder() throws -> ServerFolder {
    var folder = try ServerFolder(path, isCreating: false)
    folder.environment = machine.environment
    return folder
  }

  /// All versions of records, and the deletions of records that the server did not have.
  func history() throws -> (versions: [ServerStore.Version], tombstones: Set<String>) {
    let database = try store.open()
    defer { database.close() }
    return try database.read { (try store.history(in: $0), try store.tombstones(in: $0)) }
  }

  /// Opens the data and serves it. A task of the scheduler calls this, so that the tasks of the server are there, too.
  func start() async throws {
    generation += 1
    let folder = try folder()
    var limits = ServerLimits()
    limits.requestBurst = 100_000
    var settings = FieldVaultServer.Settings(
      folder: folder, listen: "", schemas: [try workload.schema().schema], limits: limits,
      log: RequestLog { [trace] line in trace.note("server log", String(line.drop { $0 != " " })) })
    settings.retentionDays = 90
    let data = try ServedData(settings)
    self.data = data
    data.startHousekeeping()
    trace.note("server", "starts")
  }

  /// Returns the response to a request; `nil` if the server does not run to its end.
  func respond(to request: Request) async -> Response? {
    guard let data else { return nil }
    let generation = generation
    running += 1
    defer { running -= 1 }
    var request = request
    let admitted = data.router.admit(request)
    request.caller = admitted.caller
    request.isCounted = admitted.isCounted
    let response: Response
    switch admitted.admission {
    case .refuse(let refusal): response = refusal
    case .open(_, let open):
      switch await open() {
      case .refuse(let refusal): response = refusal
      case .sink(let sink):
        _ = request.body.withUnsafeBufferPointer { sink.take($0) }
        response = await sink.finish()
      }
    case .ignore, .collect: response = await data.router.respond(to: request)
    }
    return generation == self.generation ? response : nil
  }

  /// Ends the program: orderly, or by a power cut.
  func stop(byPowerCut: Bool) async throws {
    guard let data else { return }
    self.data = nil
    generation += 1
    if byPowerCut { machine.cutPower() }
    data.stopWaiting()
    while running > 0 { try await machine.scheduler.sleep(1000) }
    await data.close(waitingAtMost: .zero)
    // Tasks that still have the data end.
    try await machine.scheduler.sleep(1000)
    if byPowerCut { try machine.restart() }
    trace.note("server", byPowerCut ? "loses power" : "stops")
  }
}
