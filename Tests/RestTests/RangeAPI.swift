import CipherSQL
import Foundation
import RangeModel
import SyncModel
import TestSupport
import Testing
import VaultKeys
import HTTPClient

@testable import VaultStore
@testable import SyncEngine
@testable import RESTRemote

/// A process that serves the REST API of the range app and knows nothing of FieldVault.
final class RangeAPI: Sendable {
  let folder: TemporaryFolder
  let url: String
  private let process: Process
  private let control: HTTPTransport

  static let source = packagePath("Tests/RangeAPI/server.py")
  static let routes = packagePath("Schema/range/routes.json")

  init(pageSize: Int = 50) throws {
    folder = try TemporaryFolder()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", Self.source, "--data", folder.file("api.db"), "--page-size", String(pageSize)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    self.process = process
    var line = ""
    while !line.hasSuffix("\n"), let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
      line += String(decoding: byte, as: UTF8.self)
    }
    let address = try #require(line.split(separator: " ").last).replacing("/api\n", with: "")
    url = String(address)
    control = HTTPTransport(address: try ServerAddress(url)) { nil }
  }

  deinit { kill(process.processIdentifier, SIGKILL) }

  /// Plans a fault for the next matching requests.
  func fault(_ request: String, _ what: String, times: Int = 1) async throws {
    let fault: SyncValue = ["match": .text(request), "do": .text(what), "times": .integer(Int64(times))]
    let response = try await control.send(HTTPRequest("/_test/faults", body: Array("[\(fault.json)]".utf8)))
    #expect(response.status == 200)
  }

  func noFaults() async throws { _ = try await control.send(HTTPRequest("/_test/faults", body: Array("[]".utf8))) }

  func oldSummary() async throws { _ = try await control.send(HTTPRequest("/_test/old-summary", body: [])) }

  /// Runs SQL on the database of the server. Returns the result as JSON.
  @discardableResult
  func sql(_ sql: String) async throws -> String {
    let response = try await control.send(HTTPRequest("/_test/sql", body: Array(sql.utf8)))
    return String(decoding: response.body, as: UTF8.self)
  }

  func count(_ table: String) async throws -> String { try await sql("SELECT count(*) FROM \(table)") }

  static func routeFile() throws -> String { try String(contentsOfFile: routes, encoding: .utf8) }
}

/// A vault of the range app that syncs with the API.
final class RangeDevice: Sendable {
  let folder: TemporaryFolder
  let vault: Vault
  let worker: SyncWorker

  init(
    at url: String, routes: String? = nil, token: String = "range-token", network: NetworkState = .online,
    limits: TransportLimits = TransportLimits(), lists: ListLimits = ListLimits(), jitter: Double = 0
  ) throws {
    folder = try TemporaryFolder()
    vault = try Self.makeVault(folder, jitter: jitter)
    let text = try routes ?? RangeAPI.routeFile()
    try vault.setRemote(url: url, token: token, routes: try RouteFile.routes(json: text, for: vault))
    let transport = HTTPTransport(address: try ServerAddress(url), limits: limits) { token }
    let remote = RestRemote(transport: transport, file: try RouteFile(json: text), vault: vault, limits: lists)
    worker = SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: network))
  }

  /// Returns a worker for the same vault at another address.
  func worker(at url: String) throws -> SyncWorker {
    let text = try RangeAPI.routeFile()
    try Self.blocking {
      try vault.setRemote(url: url, token: "range-token", routes: try RouteFile.routes(json: text, for: vault))
    }
    let transport = HTTPTransport(address: try ServerAddress(url)) { "range-token" }
    let remote = RestRemote(transport: transport, file: try RouteFile(json: text), vault: vault)
    return SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
  }

  static func makeVault(_ folder: TemporaryFolder, jitter: Double = 0) throws -> Vault {
    try blocking {
      try Vault.create(
        at: folder.file("range.vault"), schemas: [(SchemaSource(name: "range", folder: nil), RangeSchema.schema)],
        secret: keyFileSecret(), configuration: Configuration(environment: .system { jitter }))
    }
  }

  /// Calls a function that blocks its thread.
  private static func blocking<Value>(_ body: () throws -> Value) throws -> Value { try body() }

  @discardableResult
  func sync(_ place: SourceLocation = #_sourceLocation) async throws -> SyncReport {
    let report = try await worker.sync()
    #expect(report.outcome == .done, "\(String(describing: report.failure))", sourceLocation: place)
    return report
  }

  /// Runs up to 40 rounds, until nothing waits except failed and conflicted operations. Each round may fail.
  func syncUntilQuiet() async throws {
    for _ in 0..<40 {
      do {
        _ = try await worker.sync()
      } catch let refused as SyncRefused where refused == .busy {
        // The round of a save is still running.
        try await Task.sleep(for: .milliseconds(50))
        continue
      }
      try await write { try $0.execute("UPDATE OfflineSyncQueue SET scheduledAt = NULL WHERE scheduledAt IS NOT NULL") }
      try await write {
        try $0.execute("UPDATE AttachmentTransfer SET scheduledAt = NULL WHERE scheduledAt IS NOT NULL")
      }
      if try await waiting() == 0 { return }
    }
  }

  func waiting() async throws -> Int {
    let operations = try await value(
      "SELECT count(*) FROM OfflineSyncQueue WHERE completedAt IS NULL AND status <> 'failed' AND status <> 'conflict'",
      as: Int.self)
    let files = try await value("SELECT count(*) FROM AttachmentTransfer WHERE status <> 'failed'", as: Int.self)
    return (operations ?? 0) + (files ?? 0)
  }

  /// Returns the data that the commands `status` and `history` show.
  func stored() throws -> (status: StoreStatus, history: [SyncRunEntry]) {
    (try vault.status(), try vault.history(limit: 5))
  }

  @discardableResult
  func write<Result: Sendable>(_ body: @escaping @Sendable (WriteConnection) throws -> Result) async throws -> Result {
    try await vault.database.write(body)
  }

  func value<Value: SQLValue>(_ sql: SQL, as type: Value.Type = Value.self) async throws -> Value? {
    try await vault.database.read { try $0.fetchOne(sql, as: type) }
  }

  func values(_ sql: SQL) async throws -> [String] {
    try await vault.database.read { try $0.fetch(sql, as: String.self) }
  }

  /// Inserts a session with the first rifle. Returns its local id.
  func addSession(_ notes: String = "") async throws -> Int64 {
    try await write { connection in
      try connection.execute(
        "INSERT INTO OfflineSession (rifleSetupId, notes) SELECT min(rifleSetupId), \(notes) FROM OfflineRifleSetup")
      return connection.lastInsertedRowID
    }
  }

  func addHold(_ session: Int64, at distance: Int) async throws {
    try await write {
      try $0.execute("INSERT INTO OfflineDopeEntry (sessionId, distance) VALUES (\(session), \(distance))")
    }
  }

  /// Inserts a session with records of every type except images.
  func addWholeSession() async throws {
    let session = try await addSession("whole")
    try await addHold(session, at: 300)
    try await addHold(session, at: 600)
    try await write { connection in
      try connection.execute(
        "INSERT INTO OfflineChronoSession (sessionId, chronographModel) VALUES (\(session), 'radar')")
      let chrono = connection.lastInsertedRowID
      for (number, velocity) in [2710.0, 2722.0, 2705.0].enumerated() {
        try connection.execute(
          """
          INSERT INTO OfflineVelocityReading (chronoSessionId, shotNumber, velocity)
          VALUES (\(chrono), \(number + 1), \(velocity))
          """)
      }
      try connection.execute(
        """
        INSERT INTO OfflineGroupEntry (sessionId, groupNumber, distance, numberOfShots) VALUES (\(session), 1, 100, 3)
        """)
      let group = connection.lastInsertedRowID
      try connection.execute(
        "INSERT INTO OfflineGroupMeasurement (groupEntryId, bulletDiameter) VALUES (\(group), 0.264)")
      let measurement = connection.lastInsertedRowID
      for x in [0.1, 0.5, -0.3] {
        try connection.execute(
          "INSERT INTO OfflineHolePosition (groupMeasurementId, x, y) VALUES (\(measurement), \(x), 0.2)")
      }
    }
  }

  /// The number of records in each table of the API after a whole session was sent.
  static let wholeSession = [
    ("sessions", "[[1]]"), ("dope", "[[2]]"), ("chrono", "[[1]]"), ("readings", "[[3]]"), ("groups", "[[1]]"),
    ("measurements", "[[1]]"), ("holes", "[[3]]"),
  ]
}
