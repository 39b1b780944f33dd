import CipherSQL
import Glibc
import HTTPServer
import Platform
import SQLCipherStorage
import SyncModel
import SyncServer
import TestSupport

/// The server program on its machine.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class SimulatedServer: SimulatedPeer, @unchecked Sendable {
  let machine: Machine
  /// Its schema, which another version replaces while the server does not run.
  var workload: Workload
  private let trace: Trace
  private var data: ServedData?
  /// Grows with each start and each crash. A request of an earlier generation has no response.
  private(set) var generation = 0
  private var running = 0
  /// A token with which the server migrates the data of an account.
  var token = ""
  /// Whether the data may lack the history of tables that an upgrade has added.
  private var mayLackHistory = false
  private var isCompletingHistory = false
  /// The server on PostgreSQL that executes all requests too; `nil` in most worlds.
  var mirror: PostgresMirror?
  /// Checks the responses to users who see some projects only; `nil` in worlds without memberships.
  var membershipWatch: MembershipWatch?
  /// The greatest size of a file in bytes; `nil` for the usual limit.
  var fileLimit: Int64?

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
    if let fileLimit { limits.files.fileBytes = fileLimit }
    var settings = FieldVaultServer.Settings(
      folder: folder, listen: "", schemas: [try workload.schema().schema], limits: limits,
      log: RequestLog { [trace] line in trace.note("server log", String(line.drop { $0 != " " })) })
    settings.retentionDays = 90
    let data = try await TransactionMeter.asUpgrade { try ServedData(settings) }
    self.data = data
    try mirror?.start(like: settings)
    data.startHousekeeping()
    mayLackHistory = workload.isUpgraded
    trace.note("server", "starts")
  }

  func respond(to request: Request, _ delivery: Delivery) async -> Response? {
    let before = membershipWatch?.state(of: self)
    let response = await respond(to: request, cutAt: delivery.cut)
    if let response { membershipWatch?.check(response, to: delivery.device, request, before: before, self) }
    return response
  }

  func beginRound(of device: String) {}

  /// Returns the response to a request; `nil` if the server does not run to its end.
  /// - Parameter cut: the number of bytes of the body after which the connection ends; `nil` for a whole body.
  func respond(to request: Request, cutAt cut: Int? = nil) async -> Response? {
    guard let data else { return nil }
    let generation = generation
    running += 1
    defer { running -= 1 }
    guard await completeHistory(data), await mirror?.begin(request) != false else { return nil }
    defer { mirror?.end(request) }
    let arrived = request
    var request = request
    let admitted = data.router.admit(request)
    request.caller = admitted.caller
    request.isCounted = admitted.isCounted
    var response: Response?
    switch admitted.admission {
    case .refuse(let refusal): response = refusal
    case .open(_, let open):
      switch await open() {
      case .refuse(let refusal): response = refusal
      case .sink(let sink): response = await give(request.body, cutAt: cut, to: sink)
      }
    case .ignore, .collect: response = await data.router.respond(to: request)
    }
    if let response { await mirror?.execute(arrived, response) }
    guard generation == self.generation else { return nil }
    if let file = response?.file {
      guard let bytes = Self.bytes(of: file) else { return nil }
      response?.body = bytes
      response?.file = nil
    }
    return response
  }

  /// Lets the database write down the versions of added tables as well, before the first request that may change them.
  /// - Returns: whether it does. No request has a response before that.
  private func completeHistory(_ data: ServedData) async -> Bool {
    guard mayLackHistory else { return true }
    guard !isCompletingHistory else { return false }
    isCompletingHistory = true
    defer { isCompletingHistory = false }
    let request = Request(
      method: "GET", path: "/v1/account", query: [:],
      headers: [
        "authorization": "Bearer \(token)", WireProtocol.header.lowercased(): "\(WireProtocol.version)",
      ], body: [])
    let response = await TransactionMeter.asUpgrade { await data.router.respond(to: request) }
    guard response.status == 200, data === self.data else { return false }
    // The disk may fail.
    do { try store.keepVersionsOfAdded() } catch { return false }
    mayLackHistory = false
    return true
  }

  /// The number of bytes that arrive at once.
  static let partBytes = 64 << 10

  /// Sends a body to its destination, as the HTTP server does.
  private func give(_ body: [UInt8], cutAt cut: Int?, to sink: any BodySink) async -> Response? {
    let end = cut ?? body.count
    var offset = 0
    while offset < end {
      let part = body[offset..<min(offset + Self.partBytes, end)]
      offset = part.endIndex
      switch part.withUnsafeBufferPointer({ sink.take($0) }) {
      case .taken: break
      case .full: await withCheckedContinuation { continuation in sink.whenReady { continuation.resume() } }
      case .refused(let refusal):
        sink.cut()
        return refusal
      case .over:
        sink.cut()
        return nil
      }
      // Another request may come in between.
      if offset < body.count { await machine.scheduler.pass(1000) }
    }
    guard cut == nil else {
      sink.cut()
      return nil
    }
    return await sink.finish()
  }

  /// Returns `nil` if the disk fails.
  private static func bytes(of part: FilePart) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: part.count)
    let descriptor = part.file.descriptor
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(part.start)) }
    return count == part.count ? bytes : nil
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
    await mirror?.stop()
    // Tasks that still have the data end.
    try await machine.scheduler.sleep(1000)
    if byPowerCut { try machine.restart() }
    trace.note("server", byPowerCut ? "loses power" : "stops")
  }
}
