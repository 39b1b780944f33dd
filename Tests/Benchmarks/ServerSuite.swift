import Foundation
import Platform
import ServerSupport

/// What a server with many accounts or records costs, and what its accounts cost each other.
struct ServerSuite {
  let folder: String
  let sizes: SyncSizes

  /// Prints the costs of accounts as soon as they are known.
  func runAccounts(_ tell: ([Finding]) -> Void) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    tell(try await idleAccounts())
    tell(try await manyAccounts())
    tell(try await comparison())
  }

  /// Prints the delays that accounts, a long transaction and a dump cause as soon as they are known.
  func runFairness(_ tell: ([Finding]) -> Void) async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let data = folder + "/fairness"
    let tokens = try ["ada", "bob"].map { try ServerFilling.addUser($0, in: data) }
    let server = try ServerProcess(folder: data)
    tell([try await fairness(server, tokens, "SQLCipher")])
    server.stop()
    let cluster = try PostgresServer("fsync=on", "shared_buffers=256MB", "max_wal_size=4GB")
    defer { cluster.remove() }
    let database = try cluster.makeDatabase()
    let others = try ServerFilling.addUsers(2, toDatabase: cluster.url(database))
    let node = try ServerProcess(database: cluster.url(database), in: folder)
    defer { node.stop() }
    tell([try await fairness(node, others, "PostgreSQL")])
    tell([try await longTransaction(node, others[0], cluster, database)])
  }

  // MARK: Accounts in a folder

  /// The memory of accounts that were used and are closed.
  private func idleAccounts() async throws -> [Finding] {
    let count = 300
    let data = folder + "/idle"
    let tokens = try (0..<count).map { try ServerFilling.addUser("user\($0)", in: data) }
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    for token in tokens { try await PushSender(Access(url: server.url, token: token), device: "tablet").begin() }
    let used = try server.memory()
    // An account is closed a minute after its last request.
    try await Task.sleep(for: .seconds(75))
    let idle = try server.memory()
    return [
      Finding(
        "\(count) accounts in a folder: \(format(Double(used) / 1_048_576, 0)) MiB of memory after their requests, "
          + "\(format(Double(idle) / 1_048_576, 0)) MiB when idle (promised: at most 200)", holds: idle <= 200 << 20)
    ]
  }

  /// The time until a server with many accounts is ready.
  private func manyAccounts() async throws -> [Finding] {
    let data = folder + "/many"
    try ServerFilling.addUsers(sizes.accounts, in: data)
    let start = ContinuousClock.now
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    let status = try await PushSender(Access(url: server.url, token: "none"), device: "tablet").get("/v1/ready")
    let time = (ContinuousClock.now - start).inSeconds
    guard status == 200 else { throw BenchmarkFailure("/v1/ready returns \(status)") }
    return [
      Finding(
        "\(sizes.accounts) accounts in a folder: ready after \(format(time, 2)) s (promised: 1 s)", holds: time <= 1)
    ]
  }

  /// The CPU time of a comparison that finds no difference.
  private func comparison() async throws -> [Finding] {
    let data = folder + "/comparison"
    let (few, many) = (1_000, sizes.digested)
    let accounts = [
      try await ServerFilling.fill("few", readings: few, in: data),
      try await ServerFilling.fill("many", readings: many, in: data),
    ]
    let server = try ServerProcess(folder: data)
    defer { server.stop() }
    let devices = try accounts.map { try PushSender(Access(url: server.url, token: $0.token), device: "tablet") }
    var times: [[Double]] = [[], []]
    for round in 0..<8 {
      for (index, device) in devices.enumerated() {
        let before = try server.processorTime()
        for _ in 0..<100 {
          guard try await device.get("/v1/digests") == 200 else { throw BenchmarkFailure("no digests") }
        }
        // The first round opens the accounts.
        if round > 0 { times[index].append(try server.processorTime() - before) }
      }
    }
    let ratio = median(times[1]) / median(times[0])
    return [
      Finding(
        "comparing equal data: \(format(median(times[0]) * 10, 2)) ms of the server's CPU with \(few) records, "
          + "\(format(ratio, 2)) of it with \(many) (promised: the same, 0.8 to 1.25)", holds: ratio <= 1.25)
    ]
  }

  // MARK: Accounts beside others

  /// How an account at full load delays another one.
  private func fairness(_ server: ServerProcess, _ tokens: [String], _ engine: String) async throws -> Finding {
    let quiet = try PushSender(Access(url: server.url, token: tokens[0]), device: "quiet")
    try await quiet.begin()
    func late() async throws -> Double {
      try await delays(300) { try await quiet.push(1) }
    }
    let alone = try await late()
    let load = try LoadProcess(Access(url: server.url, token: tokens[1]), devices: 16)
    let loaded = try await late()
    try load.stop()
    return Finding(
      "\(engine): 99 of 100 pushes of an account within \(format(alone * 1_000, 1)) ms, and within "
        + "\(format(loaded * 1_000, 1)) ms beside 16 devices of another account at full load: \(format(loaded / alone, 2)) "
        + "(promised: at most 2)", holds: loaded <= alone * 2)
  }

  /// How a long transaction and a dump of the database delay pulls.
  private func longTransaction(
    _ node: ServerProcess, _ token: String, _ cluster: PostgresServer, _ database: String
  ) async throws -> Finding {
    let device = try PushSender(Access(url: node.url, token: token), device: "reader")
    try await device.begin()
    for _ in 0..<200 { try await device.push(25) }
    func late() async throws -> Double {
      try await delays(200) { _ = try await device.changes(after: nil) }
    }
    let alone = try await late()
    // Nothing that changes from now on can be removed until the transaction ends.
    let transaction = Task {
      try await onThread {
        try cluster.sql(
          "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM fieldvault.account; SELECT pg_sleep(600)",
          database: database)
      }
    }
    for _ in 0..<400 { try await device.push(1) }
    let isDumping = Flag()
    let beside = try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await onThread { while isDumping.isSet { try cluster.dump(database) } } }
      defer { isDumping.clear() }
      return try await late()
    }
    try cluster.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '\(database)'")
    // It ends with the error that its connection was terminated.
    _ = await transaction.result
    return Finding(
      "99 of 100 pulls within \(format(alone * 1_000, 1)) ms, and within \(format(beside * 1_000, 1)) ms beside a long "
        + "transaction and pg_dump: \(format(beside / alone, 2)) (promised: at most 2)", holds: beside <= alone * 2)
  }

  /// Performs requests, and returns the time within which 99 of 100 end, in seconds.
  private func delays(_ count: Int, _ body: () async throws -> Void) async throws -> Double {
    var delays: [Double] = []
    for _ in 0..<count {
      let start = ContinuousClock.now
      try await body()
      delays.append((ContinuousClock.now - start).inSeconds)
      try await Task.sleep(for: .milliseconds(5))
    }
    return delays.sorted()[count * 99 / 100]
  }
}

/// Whether work goes on that several tasks do.
private final class Flag: Sendable {
  private let state = Locked(true)

  var isSet: Bool { state.withLock { $0 } }
  func clear() { state.withLock { $0 = false } }
}
