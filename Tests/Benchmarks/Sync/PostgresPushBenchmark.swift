import Foundation
import HTTPClient
import PostgresStorage
import ServerSupport
import SyncModel

/// Pushes of 25 operations through a node to PostgreSQL, and the statements of such pushes sent by pgbench to the same
/// cluster, in turns.
struct PostgresPushBenchmark {
  let folder: String
  let rounds: Int
  private let seconds = 6
  private let accounts = 16

  /// What one side has done in some seconds.
  private struct Load {
    let pushes: Int
    let seconds: Double
    /// The CPU time of the processes of PostgreSQL, in seconds.
    let database: Double
    /// The CPU time of the node, in seconds.
    var node = 0.0

    var perSecond: Double { Double(pushes) / seconds }
    var databasePerPush: Double { database / Double(pushes) }
  }

  func findings() async throws -> [Finding] {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // A company's database loses nothing when the power fails.
    let cluster = try PostgresServer("fsync=on", "shared_buffers=256MB", "max_wal_size=4GB")
    defer { cluster.remove() }
    let (served, plain) = (try cluster.makeDatabase(), try cluster.makeDatabase())
    try prepare(plain, of: cluster)
    let tokens = try ServerFilling.addUsers(accounts, toDatabase: cluster.url(served))
    let server = try ServerProcess(database: cluster.url(served), in: folder)
    defer { server.stop() }
    let senders = try tokens.map { try PushSender(Access(url: server.url, token: $0), device: "tablet") }
    for sender in senders { try await sender.begin() }
    let ofOneAccount = try (0..<accounts).map {
      try PushSender(Access(url: server.url, token: tokens[0]), device: "device \($0)")
    }
    for sender in ofOneAccount { try await sender.begin() }
    var (many, one, floor): ([Load], [Load], [Load]) = ([], [], [])
    for _ in 0..<rounds {
      many.append(try await push(senders, server, cluster))
      floor.append(try measureFloor(plain, cluster))
      one.append(try await push(ofOneAccount, server, cluster))
    }
    return report(many, one, floor)
  }

  private func report(_ many: [Load], _ one: [Load], _ floor: [Load]) -> [Finding] {
    let processor = median(zip(many, floor).map { $0.databasePerPush / $1.databasePerPush })
    let speed = median(zip(many, floor).map { $0.perSecond / $1.perSecond })
    let speedOfOne = median(zip(one, floor).map { $0.perSecond / $1.perSecond })
    func text(_ loads: [Load]) -> String {
      "\(format(median(loads.map(\.perSecond)), 0)) pushes a second, "
        + "\(format(median(loads.map { $0.databasePerPush * 1_000 }), 2)) ms of PostgreSQL's CPU for each"
    }
    return [
      Finding(
        "pushes of 25 operations, \(accounts) accounts on PostgreSQL: \(text(many)), "
          + "\(format(median(many.map { $0.node / Double($0.pushes) * 1_000 }), 2)) ms of the node's", holds: nil),
      Finding("the same statements by pgbench: \(text(floor))", holds: nil),
      Finding(
        "CPU of PostgreSQL \(format(processor, 2)) of pgbench's (promised: at most 1.4)", holds: processor <= 1.4),
      Finding("pushes a second \(format(speed, 2)) of pgbench's (promised: at least 0.35)", holds: speed >= 0.35),
      Finding(
        "\(accounts) devices of one account: \(text(one)); \(format(speedOfOne, 2)) of pgbench's speed (promised: at least "
          + "0.175)", holds: speedOfOne >= 0.175),
    ]
  }

  /// Sends pushes over as many connections as there are senders.
  private func push(_ senders: [PushSender], _ server: ServerProcess, _ cluster: PostgresServer) async throws -> Load {
    let (before, nodeBefore) = (try cluster.processorTime(), try server.processorTime())
    let start = ContinuousClock.now
    let end = start + .seconds(seconds)
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for sender in senders {
        group.addTask {
          var count = 0
          while ContinuousClock.now < end {
            try await sender.push(25)
            count += 1
          }
          return count
        }
      }
      return try await group.reduce(0, +)
    }
    return Load(
      pushes: count, seconds: (ContinuousClock.now - start).inSeconds,
      database: try cluster.processorTime() - before, node: try server.processorTime() - nodeBefore)
  }

  private func measureFloor(_ database: String, _ cluster: PostgresServer) throws -> Load {
    let before = try cluster.processorTime()
    let start = ContinuousClock.now
    // A number of transactions, because pgbench inherits a blocked SIGALRM from this process, with which it would not end.
    let output = try cluster.pgbench(
      [
        "-n", "-M", "prepared", "-c", "\(accounts)", "-j", "2", "-t", "100", "-f",
        FileManager.default.currentDirectoryPath + "/Tests/Benchmarks/push.sql",
      ], database: database)
    let line = output.split(separator: "\n").first { $0.hasPrefix("number of transactions actually processed:") }
    guard let count = line?.split(whereSeparator: { $0 == " " || $0 == "/" }).compactMap({ Int($0) }).first, count > 0
    else { throw BenchmarkFailure("pgbench has done nothing: \(output)") }
    return Load(
      pushes: count, seconds: (ContinuousClock.now - start).inSeconds, database: try cluster.processorTime() - before)
  }

  /// Creates the tables of the server with an account for each client of pgbench.
  private func prepare(_ database: String, of cluster: PostgresServer) throws {
    try PostgresDatabase(PostgresSettings(url: cluster.url(database))).close()
    try cluster.sql(
      """
      INSERT INTO fieldvault.account (account_id, name, created_at, epochs, epoch_started_at, incarnation)
      SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, n::text, 0, ARRAY['e'], 0, 0
      FROM generate_series(0, \(accounts - 1)) AS n
      """, database: database)
  }
}

/// A device without a store, which pushes new readings one batch after the other.
actor PushSender {
  private let transport: HTTPTransport
  private let device: String
  /// The project of its records.
  nonisolated let project = ServerFilling.identifier()
  private let room = ServerFilling.identifier()
  private var counter: Int64 = 0

  init(_ access: Access, device: String) throws { (transport, self.device) = (try access.transport(), device) }

  /// Pushes the records that the readings reference.
  func begin() async throws {
    try await send([
      operation("Project", project, ["title": "House"]),
      operation("Room", room, ["projectId": .text(project), "title": "Room"]),
    ])
  }

  /// Pushes new readings.
  func push(_ count: Int) async throws {
    try await send(
      (0..<count).map { _ in
        operation("AtmosphericLog", ServerFilling.identifier(), ServerFilling.reading(Int(counter), project, room))
      })
  }

  /// Returns the changes of its project after a cursor; `nil` for all.
  func changes(after cursor: String?) async throws -> ChangesPage {
    let query = (cursor.map { [("cursor", $0)] } ?? []) + [("projects", project)]
    var request = HTTPRequest("/v1/changes", query: query)
    request.headers = [(WireProtocol.header, String(WireProtocol.version))]
    let response = try await transport.send(request)
    return try ChangesPage(wire: SyncValue(parsing: String(decoding: response.body, as: UTF8.self)))
  }

  /// Returns the status of a response without looking at its content.
  func get(_ path: String) async throws -> Int {
    var request = HTTPRequest(path)
    request.headers = [(WireProtocol.header, String(WireProtocol.version))]
    return try await transport.send(request).status
  }

  private func operation(_ type: String, _ uuid: String, _ fields: SyncObject) -> PushOperation {
    PushOperation(
      operationId: uuid, idempotencyKey: uuid, kind: .create, entityType: type, entityUuid: uuid, baseVersion: 0,
      schemaVersion: 1, patch: RecordPatch(fields: fields, updatedAt: 1_767_225_600_000))
  }

  private func send(_ operations: [PushOperation]) async throws {
    counter += 1
    let body = PushRequest(deviceId: device, deviceCounter: counter, cursor: nil, operations: operations).jsonBytes
    var request = HTTPRequest("/v1/push", body: body)
    request.headers = [(WireProtocol.header, String(WireProtocol.version))]
    let response = try await transport.send(request)
    let text = String(decoding: response.body, as: UTF8.self)
    guard response.status == 200 else { throw BenchmarkFailure("the server returns \(response.status): \(text)") }
    for result in try PushResponse(wire: SyncValue(parsing: text)).results {
      guard case .accepted = result.outcome else { throw BenchmarkFailure("an operation was not accepted: \(result)") }
    }
  }
}
