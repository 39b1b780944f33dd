import CipherSQL
import Foundation
import RestorationModel
import PostgresStorage
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing
import VaultKeys
import HTTPClient

@testable import FileServer
@testable import SQLCipherStorage
@testable import VaultStore
@testable import SyncEngine
@testable import HTTPServer
@testable import SyncServer

/// A server in this process that listens on a real socket.
final class LocalServer {
  let folder: TemporaryFolder
  private(set) var server: FieldVaultServer
  let schemas: [Schema]
  private let log: RequestLog
  private let objectStore: ObjectStore?
  private let environment: Environment

  init(
    in folder: TemporaryFolder? = nil, schemas: [Schema] = [RestorationSchema.schema],
    objectStore: ObjectStore? = nil, log: RequestLog = .silent, environment: Environment = .system,
    _ limit: (inout ServerLimits) -> Void = { _ in }
  ) throws {
    let folder = try folder ?? TemporaryFolder()
    self.folder = folder
    self.schemas = schemas
    self.log = log
    self.objectStore = objectStore
    self.environment = environment
    server = try Self.start(folder, schemas, objectStore, log, environment, limit)
  }

  deinit {
    // Many tests leave their server running. A PostgreSQL server would run out of connections.
    guard TestEngine.isPostgres else { return }
    let server = server
    Task { await server.stop() }
  }

  /// Stops the server, runs `body`, and serves the same data again at the same address.
  func restart(_ limit: (inout ServerLimits) -> Void = { _ in }, while body: () async throws -> Void = {}) async throws
  {
    let port = server.url.split(separator: ":").last.map(String.init) ?? "0"
    await server.stop()
    try await body()
    server = try Self.start(folder, schemas, objectStore, log, environment, port: port, limit)
  }

  private static func start(
    _ folder: TemporaryFolder, _ schemas: [Schema], _ objectStore: ObjectStore?, _ log: RequestLog,
    _ environment: Environment, port: String = "0", _ limit: (inout ServerLimits) -> Void
  ) throws -> FieldVaultServer {
    var limits = ServerLimits()
    limits.requestBurst = 1_000_000
    limit(&limits)
    var settings = FieldVaultServer.Settings(
      try source(folder, environment), listen: "127.0.0.1:\(port)",
      schemas: schemas, limits: limits, log: log)
    settings.objectStore = objectStore
    return try FieldVaultServer(settings)
  }

  private static func source(_ folder: TemporaryFolder, _ environment: Environment) throws -> FieldVaultServer.Source {
    if let database = try TestEngine.database(of: folder.path, environment) {
      return .database(database, scratch: folder.path)
    }
    var data = try ServerFolder(folder.path + "/data", isCreating: true)
    data.environment = environment
    return .folder(data)
  }

  /// Returns the result of a closure over the users of the server's data.
  func withDirectory<Result>(_ body: (any AccountDirectory) throws -> Result) throws -> Result {
    guard let database = try TestEngine.database(of: folder.path, environment) else {
      let directory = try ServerDirectory(in: try ServerFolder(folder.path + "/data", isCreating: false))
      defer { directory.close() }
      return try body(directory)
    }
    defer { database.close() }
    return try body(PostgresDirectory(database))
  }

  /// Waits until the server has cascaded the pushed deletions and restorations to all dependents. The server
  /// responds to a push after the first dependents and processes the remaining ones in separate transactions.
  func finishJobs() async throws {
    for account in try withDirectory({ try $0.accounts() }) {
      for _ in 0..<12_000 {
        let isAny = try await server.storage.read(account) { try $0.hasJobs }
        if !isAny { break }
        try await Task.sleep(for: .milliseconds(5))
      }
    }
  }

  /// Limits the account `water` to the projects of its users.
  /// - Parameter records: the UUIDs of the records of users, by name.
  func limitToMembers(_ records: [String: String]) throws {
    try withDirectory { directory in
      for (name, record) in records { try directory.linkUser(name, to: record) }
      _ = try directory.setMembership(true, of: "water")
    }
  }

  func token(_ user: String, account: String = "water", role: TokenRole = .device) throws -> String {
    try withDirectory { try $0.addUser(user, account: account, role: role, expires: nil).token }
  }
}

/// A vault with a sync worker: one device of one user.
final class Device: Sendable {
  let folder: TemporaryFolder
  let vault: Vault
  let worker: SyncWorker
  let token: String

  init(
    _ name: String, at server: LocalServer, account: String = "water", schema: Schema = RestorationSchema.schema,
    environment: Environment = .system { 0 }
  ) async throws {
    folder = try TemporaryFolder()
    vault = try await Self.vault(folder.path + "/job.vault", schema, Configuration(environment: environment))
    token = try server.token(name, account: account)
    worker = try Self.worker(vault, url: server.server.url, token: token)
  }

  /// Opens the vault `job.vault` in a folder as a device.
  init(
    opening folder: TemporaryFolder, url: String, token: String, schema: Schema = RestorationSchema.schema
  ) throws {
    self.folder = folder
    vault = try Vault.open(
      at: folder.path + "/job.vault", with: keyFileSecret(1), schemas: [schema],
      configuration: Configuration(environment: .system { 0 }))
    self.token = token
    worker = try Self.worker(vault, url: url, token: token)
  }

  private static func vault(
    _ path: String, _ schema: Schema, _ configuration: Configuration
  ) async throws -> Vault {
    try Vault.create(
      at: path, schemas: [(SchemaSource(name: schema.name, folder: nil), schema)], secret: keyFileSecret(1),
      configuration: configuration)
  }

  static func worker(_ vault: Vault, url: String, token: String) throws -> SyncWorker {
    try set(vault, url, token)
    let address = try ServerAddress(url)
    // The server shares the threads of this process with all other tests, so these limits only guard against a
    // hang.
    var limits = TransportLimits()
    limits.connectSeconds = 600
    limits.idleSeconds = 600
    limits.wholeSeconds = 1200
    let transport = HTTPTransport(
      address: address, limits: limits, authorities: nil, proxies: .system, renewal: nil,
      device: { try vault.deviceId() }, token: { token })
    let remote = FieldVaultRemote(transport: transport)
    return SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
  }

  private static func set(_ vault: Vault, _ url: String, _ token: String) throws {
    try vault.setRemote(url: url, token: token)
  }

  @discardableResult
  func sync(_ request: RoundRequest = RoundRequest(), _ place: SourceLocation = #_sourceLocation) async throws
    -> SyncReport
  {
    let report = try await worker.sync(request)
    #expect(report.outcome == .done, "\(String(describing: report.failure))", sourceLocation: place)
    return report
  }

  /// Runs one round without files.
  func syncRecords(_ place: SourceLocation = #_sourceLocation) async throws {
    let report = try await worker.round(.manual, RoundRequest())
    #expect(report.outcome == .done, "\(String(describing: report.failure))", sourceLocation: place)
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

  /// Returns the digest of each entity, computed over the server's representation of all its records.
  func digests() async throws -> [String: String] {
    let catalog = vault.syncCatalog
    return try await vault.database.read { connection in
      let store = try StoreDigests(catalog: catalog, connection: connection)
      return try catalog.tables.mapValues { try store.digests(of: $0).whole.digest }
    }
  }
}

extension Device {
  /// Syncs both devices, then expects equal records on the devices and the server. Expects no conflict, no
  /// unacknowledged operation and no inbox entry.
  static func expectAgreement(
    _ one: Device, _ two: Device, _ note: Comment? = nil, _ place: SourceLocation = #_sourceLocation
  ) async throws {
    for device in [one, two, one, two] { try await device.sync() }
    #expect(try await one.digests() == two.digests(), note, sourceLocation: place)
    for device in [one, two] {
      #expect(try device.conflicts().map(\.conflictType) == [], note, sourceLocation: place)
      #expect(
        try await device.values("SELECT entityType || status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [],
        note, sourceLocation: place)
      #expect(try await device.values("SELECT entityType || detail FROM SyncInbox") == [], note, sourceLocation: place)
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, note, sourceLocation: place)
    }
  }
}

extension SyncWorker {
  /// Returns the events that the worker publishes while `body` runs.
  nonisolated func events(_ body: () async throws -> Void) async throws -> [SyncEvent] {
    let told = events
    try await body()
    // `.queued` marks the end, because only a running worker publishes this event.
    tell(.queued)
    var events: [SyncEvent] = []
    for await event in told {
      if event == .queued { break }
      events.append(event)
    }
    return events
  }
}
