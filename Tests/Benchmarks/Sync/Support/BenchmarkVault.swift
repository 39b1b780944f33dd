import CipherSQL
import Foundation
import VaultStore
import RestorationModel
import SyncEngine
import VaultKeys
import HTTPClient

/// Vaults of the restoration schema for the benchmarks.
enum BenchmarkVault {
  /// The content of the key file that opens them.
  static let keyFile = (0..<64).map { UInt8($0 * 3 + 1) }

  /// Without random delays.
  private static let configuration = Configuration(environment: .system { 0 })

  static func make(_ path: String, cacheMiB: Int? = nil) throws -> Vault {
    var configuration = configuration
    if let cacheMiB { configuration.pageCacheBytes = cacheMiB << 20 }
    return try Vault.create(
      at: path, schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: try secret(), configuration: configuration)
  }

  /// Opens one that was made.
  static func open(_ path: String) throws -> Vault {
    try Vault.open(at: path, with: try secret(), schemas: [RestorationSchema.schema], configuration: configuration)
  }

  private static func secret() throws -> UnlockSecret {
    var content = keyFile
    return .keyFile(try SecureBytes(wiping: &content))
  }

  /// A worker with its observed requests.
  static func worker(_ vault: Vault, _ server: Access) throws -> (worker: SyncWorker, notes: RemoteNotes) {
    try vault.setRemote(url: server.url, token: server.token)
    let notes = RemoteNotes()
    let remote = ObservedRemote(remote: try server.remote(), notes: notes)
    return (SyncWorker(vault: vault, remote: remote, monitor: NetworkMonitor(fixed: .online)), notes)
  }

  /// A project with ten rooms and so many readings, each with its operation.
  static func write(_ count: Int, to vault: Vault) throws {
    try vault.database.write { db in
      let project = try db.insert(Project(title: "House"))
      let rooms = try (1...10).map { number in
        try db.insert(Room(projectId: project.projectId, title: "Room \(number)"))
      }
      for index in 0..<count {
        try db.insert(reading(index, project: project.projectId, room: rooms[index % rooms.count].roomId))
      }
    }
  }

  /// Adds a completed operation of each reading to the outbox, as if each had been sent from here.
  static func addCompleted(to vault: Vault) throws {
    try vault.database.write { db in
      try db.execute(
        """
        INSERT INTO OfflineSyncQueue (entityType, entityId, entityUuid, operationType, priority, status, completedAt)
        SELECT 'AtmosphericLog', logId, uuid, 'create', 2, 'completed', strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
        FROM OfflineAtmosphericLog
        """)
    }
  }

  static func reading(_ index: Int, project: Int64, room: Int64) -> AtmosphericLog {
    let date = Date(timeIntervalSince1970: 1_767_225_600 + Double(index) * 60)
    return AtmosphericLog(
      projectId: project, roomId: room, date: date, relativeHumidity: Double(index % 1000) / 10,
      temperature: 60 + Double(index % 300) / 10, dewPoint: 40 + Double(index % 200) / 10, createdAt: date,
      updatedAt: date)
  }
}

/// A server and the token of a user.
struct Access: Sendable {
  let url: String
  let token: String

  func transport() throws -> HTTPTransport {
    let token = token
    return HTTPTransport(address: try ServerAddress(url)) { token }
  }

  func remote() throws -> FieldVaultRemote { FieldVaultRemote(transport: try transport()) }
}

/// Why a benchmark cannot go on.
struct BenchmarkFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
