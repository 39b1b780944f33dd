import CipherSQL
import FileServer
import Foundation
import HTTPServer
import Platform
import PostgresStorage
import RestorationModel
import SQLCipherStorage
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// A server whose account `water` limits devices to the projects of their users, on either engine.
final class MemberServer {
  enum Engine: String, CaseIterable { case folder, postgres }

  let server: FieldVaultServer
  private let settings: FieldVaultServer.Settings
  /// Where the data are.
  var source: FieldVaultServer.Source { settings.source }
  let directory: any AccountDirectory
  private let folder: TemporaryFolder
  /// The folder with the data; `nil` for a database.
  let data: ServerFolder?
  /// The name of the database; `nil` for a folder.
  let databaseName: String?
  /// The record of each user.
  private(set) var records: [String: String] = [:]
  /// The lines of the log.
  let lines = Locked<[String]>([])

  init(
    _ engine: Engine, isLimited: Bool = true, schema: Schema = RestorationSchema.schema,
    objectStore: ObjectStore? = nil, environment: Environment = .system, adminListen: String? = nil,
    _ limit: (inout ServerLimits) -> Void = { _ in }
  ) throws {
    folder = try TemporaryFolder()
    let source: FieldVaultServer.Source
    switch engine {
    case .folder:
      var data = try ServerFolder(folder.path + "/data", isCreating: true)
      data.environment = environment
      (self.data, databaseName) = (data, nil)
      source = .folder(data)
      directory = try ServerDirectory(in: data)
    case .postgres:
      let shared = try SharedPostgres.server
      let name = try shared.makeDatabase()
      (data, databaseName) = (nil, name)
      let database = try PostgresDatabase(PostgresSettings(url: shared.url(name)), environment: environment)
      source = .database(database, scratch: folder.path)
      directory = PostgresDirectory(database)
    }
    var limits = ServerLimits()
    limits.requestBurst = 1_000_000
    limit(&limits)
    let log = RequestLog { [lines] line in lines.withLock { $0.append(line) } }
    var settings = FieldVaultServer.Settings(
      source, listen: "127.0.0.1:0", schemas: [schema], limits: limits, log: log)
    (settings.objectStore, settings.adminListen, settings.version) = (objectStore, adminListen, "1.2.3")
    self.settings = settings
    server = try FieldVaultServer(settings)
    let office = try token("office", role: .service)
    self.office = TestClient(url: server.url, token: office)
    if isLimited { _ = try directory.setMembership(true, of: "water") }
  }

  /// A program that is not limited.
  private(set) var office: TestClient!

  private func token(_ name: String, role: TokenRole = .device, record: String? = nil) throws -> String {
    try directory.addUser(name, account: "water", role: role, expires: nil, record: record).token
  }

  /// Starts another node on the same database.
  func startNode() throws -> FieldVaultServer { try FieldVaultServer(settings) }

  /// Adds a user with a record, and returns a client of the user.
  /// - Parameter type: the entity of the record, which has the column `email`.
  func user(_ name: String, type: String = "User") async throws -> TestClient {
    let record = newUuid()
    records[name] = record
    let client = TestClient(url: server.url, token: try token(name, record: record))
    let fields: SyncObject = ["email": .text("\(name)@example.org")]
    guard try await office.results([Operation.create(type, record, fields)]) == ["accepted"] else {
      throw Unexpected("the record of \(name) was not stored")
    }
    return client
  }

  /// The operation that adds a user to a project.
  func adding(_ name: String, to project: String, as uuid: String = newUuid()) -> SyncValue {
    Operation.create(
      "ProjectCrew", uuid, ["projectId": .text(project), "userId": .text(records[name] ?? "nobody")])
  }

  /// A project with a location, a room and a note, by a user.
  func makeProject(by client: TestClient) async throws -> (project: String, all: [String]) {
    let uuids = (0..<4).map { _ in newUuid() }
    let operations = [
      Operation.create("Project", uuids[0], ["title": "Dam"]),
      Operation.create("Location", uuids[1], ["projectId": .text(uuids[0]), "title": "Cellar"]),
      Operation.create("Room", uuids[2], ["projectId": .text(uuids[0]), "title": "Hall", "roomType": "hall"]),
      Operation.create("Note", uuids[3], ["projectId": .text(uuids[0]), "body": "wet"]),
    ]
    #expect(try await client.results(operations) == ["accepted", "accepted", "accepted", "accepted"])
    return (uuids[0], uuids)
  }

  func stop() async {
    await server.stop()
    directory.close()
  }
}

/// What a device of a limited user has read: it applies pages as a device does.
struct MemberDevice {
  let client: TestClient
  private(set) var cursor: String?
  /// The live records by UUID, with the projects to which they belong.
  private(set) var records: [String: SyncValue] = [:]
  /// Every project that was announced as removed.
  private(set) var removed: [Set<String>] = []

  init(_ client: TestClient) { self.client = client }

  var uuids: Set<String> { Set(records.keys) }

  /// - Parameter project: returns the project of a record.
  mutating func pull(limit: Int = 500, project: (String) -> String?) async throws {
    var hasMore = true
    while hasMore {
      let parts = ["limit=\(limit)"] + (cursor.map { ["cursor=\($0)"] } ?? [])
      let page = try await client.get("/v1/changes?" + parts.joined(separator: "&"))
      guard page.status == 200 else { throw Unexpected("a pull got \(page.status)") }
      let gone = Set(page.list("removedProjects").compactMap { if case .text(let uuid) = $0 { uuid } else { nil } })
      if !gone.isEmpty { removed.append(gone) }
      records = records.filter { project($0.key).map { !gone.contains($0) } ?? true }
      for change in page.list("changes") {
        guard case .text(let uuid)? = change["entityUuid"] else { continue }
        records[uuid] = change["isDeleted"] == true ? nil : change
      }
      cursor = page.text("cursor")
      hasMore = page["hasMore"] == true
    }
  }
}
