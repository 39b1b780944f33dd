import CipherSQL
import RawNetwork
import SyncModel
import TestSupport
import Testing
import VaultKeys

@testable import SyncEngine
@testable import VaultStore

/// A vault of an earlier version that syncs with an API.
@Suite(.serialized) struct EarlierVaultTests {
  private static let routes = #"""
    {"format": 1, "service": "x", "entities": {"Station": {"fields": {"code": "code", "title": "title"},
      "create": "POST /stations", "update": "PATCH /stations/{id}", "repeat": {"header": "Idempotency-Key"}}}}
    """#

  /// Creates a station for each key. It has stored the station `perhaps` already.
  private static func api() throws -> RawServer {
    let ids = Locked(["key-perhaps": 1])
    return try RawServer { request, connection in
      guard request.line.hasPrefix("POST") else { return connection.send(responseText("{}")) }
      let key = request.headers["idempotency-key"] ?? ""
      let id = ids.withLock { ids in
        let id = ids[key] ?? ids.count + 1
        ids[key] = id
        return id
      }
      return connection.send(responseText(#"{"id": \#(id), "title": "old"}"#, status: "201 Created"))
    }
  }

  /// The records: one that was never sent, one whose response was lost, and one that the API refused and may have stored.
  private static let codes = ["unsent", "lost", "perhaps"]

  private static func uuid(_ code: String) -> String {
    "01a2018d-005b-7000-b94a-f37cd09dd8f\(codes.firstIndex(of: code) ?? 9)"
  }

  /// Creates a vault with the core schema of an earlier version, whose unsent creates are written as that version did.
  private static func makeVault(at path: String, coreFiles: Int, url: String) throws {
    let station = try StationDevice.schema()
    let draft = try StagedVault(for: VaultLayout(folder: path))
    let (keyring, unlocked) = try Keyring.create(with: keyFileSecret(), label: "test", settings: KeyringSettings())
    let generation = keyring.generation.number
    try Files.makeFolder(draft.layout.generation(generation))
    try Files.makeFile(draft.layout.database(generation: generation))
    let database = try Database(
      path: draft.layout.database(generation: generation), key: GuardedKey(bytes: unlocked.databaseKey))
    let core = Schema(
      name: CoreSchema.schema.name, migrations: Array(CoreSchema.schema.migrations.prefix(coreFiles)))
    try Migrator(schemas: [core, station.schema]).apply(to: database)
    try database.write { connection in
      try SchemaSource.write([station.source], to: connection)
      for (name, value) in [(SyncSettings.Name.remoteURL, url), (.remoteToken, "token"), (.remoteRoutes, routes)] {
        try SyncSettings.set(name, value, in: connection)
      }
      try RouteTriggers.store(
        [(type: "Station", kind: "create"), (type: "Station", kind: "update")], in: connection)
      for code in codes { try insert(code, in: connection) }
    }
    database.close()
    try KeyringFile.create(keyring, at: draft.layout.keyring)
    try draft.publish()
  }

  private static func insert(_ code: String, in connection: WriteConnection) throws {
    let uuid = uuid(code)
    try connection.execute("INSERT INTO OfflineStation (uuid, code, title) VALUES (\(uuid), \(code), 'old')")
    let operation = PushOperation(
      operationId: "operation-\(code)", kind: .create, entityType: "Station", entityUuid: uuid, baseVersion: 0,
      schemaVersion: 1, patch: RecordPatch(fields: ["code": .text(code), "title": "old"], updatedAt: 0))
    let payload = code == "lost" ? operation.wire.json : nil
    let key = code == "unsent" ? nil : "key-\(code)"
    let status = ["lost": "processing", "perhaps": "failed"][code] ?? "pending"
    try connection.execute(
      """
      INSERT INTO OfflineSyncQueue
        (operationId, entityType, entityId, entityUuid, operationType, payload, priority, status, sendCount, idempotencyKey)
      SELECT \(operation.operationId), 'Station', stationId, uuid, 'create', \(payload.sqlArgument), 2, \(status),
        \(code == "unsent" ? 0 : 1), \(key.sqlArgument)
      FROM OfflineStation WHERE uuid = \(uuid)
      """)
  }

  @Test(
    "Unsent creates of an earlier vault reach the API under their keys after the migration, and edits follow them",
    arguments: [9, 11])
  func unsentCreates(coreFiles: Int) async throws {
    let api = try Self.api()
    defer { api.close() }
    let folder = try TemporaryFolder()
    let path = folder.file("stations.vault")
    try Self.makeVault(at: path, coreFiles: coreFiles, url: api.url)
    let vault = try Vault.open(
      at: path, with: keyFileSecret(), schemas: [try StationDevice.schema().schema],
      configuration: Configuration(environment: .system { 0 }))
    let device = try StationDevice(vault, in: folder, at: api.url, routes: Self.routes)
    try await device.write("UPDATE OfflineStation SET title = 'new' WHERE code <> 'unsent'")
    for _ in 0..<2 { _ = try await device.worker.sync(RoundRequest(pulls: false)) }
    #expect(
      try await device.values(
        "SELECT entityUuid || coalesce(errorMessage, '') FROM OfflineSyncQueue WHERE completedAt IS NULL")
        == [])
    #expect(
      try await device.values("SELECT code || ' ' || title || ' ' || syncStatus FROM OfflineStation ORDER BY code") == [
        "lost new synced", "perhaps new synced", "unsent old synced",
      ])
    let ids = try await device.values("SELECT code || ' ' || serverId FROM OfflineStation ORDER BY code")
    #expect(Set(ids).count == 3 && ids.contains("perhaps 1"))
    let created = api.requests.filter { $0.line.hasPrefix("POST") }.compactMap { $0.headers["idempotency-key"] }
    #expect(Set(created).isSuperset(of: ["key-lost", "key-perhaps"]) && Set(created).count == 3)
    let changes = api.requests.filter { $0.line.hasPrefix("PATCH") }.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(changes == [#"{"title":"new"}"#, #"{"title":"new"}"#])
  }
}
