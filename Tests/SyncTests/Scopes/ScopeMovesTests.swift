import CipherSQL
import Foundation
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// Devices that follow some projects while subtrees move between projects.
@Suite struct ScopeMovesTests {
  /// Only rooms reference their project. Boxes and readings belong to the project of their room.
  private static let schema: Schema = {
    func table(_ type: String, _ columns: String) -> String {
      """
      CREATE TABLE Offline\(type) (
        \(type.lowercased())Id INTEGER PRIMARY KEY, serverId INTEGER, uuid TEXT NOT NULL UNIQUE, title TEXT, \(columns)
        createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
        updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), lastSyncedAt TEXT,
        syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
        isDirty INTEGER NOT NULL DEFAULT 1, isDeleted INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO SyncedEntity (entityType, tableName, schemaName, conflictPolicy)
        VALUES ('\(type)', 'Offline\(type)', 'moves', 'last_write_wins');

      """
    }
    let sql =
      table("Project", "")
      + table("Room", "projectId INTEGER NOT NULL REFERENCES OfflineProject (projectId) ON DELETE CASCADE,")
      + table("Box", "roomId INTEGER NOT NULL REFERENCES OfflineRoom (roomId) ON DELETE CASCADE,")
      + table("Reading", "boxId INTEGER NOT NULL REFERENCES OfflineBox (boxId) ON DELETE CASCADE,")
    return Schema(name: "moves", migrations: [MigrationFile(version: 1, name: "tables", sql: sql)])
  }()

  private static func uuid(_ kind: Int, _ number: Int) -> String {
    String(format: "00000000-0000-7000-800%d-%012d", kind, number)
  }

  private static func fill(_ device: Device) async throws {
    try await device.write { db in
      for number in 1...4 { _ = try db.execute("INSERT INTO OfflineProject (uuid) VALUES (\(uuid(0, number)))") }
      for number in 1...6 {
        _ = try db.execute(
          "INSERT INTO OfflineRoom (uuid, projectId) VALUES (\(uuid(1, number)), \((number - 1) % 4 + 1))")
      }
      for number in 1...12 {
        _ = try db.execute("INSERT INTO OfflineBox (uuid, roomId) VALUES (\(uuid(2, number)), \((number - 1) % 6 + 1))")
        _ = try db.execute("INSERT INTO OfflineReading (uuid, boxId) VALUES (\(uuid(3, number)), \(number))")
      }
    }
  }

  /// Moves a subtree, changes a record or inserts one, among the records on the device.
  private static func act(_ device: Device, _ step: Int, _ random: inout Seeded) async throws {
    let (child, parent) = [("Room", "Project"), ("Box", "Room"), ("Reading", "Box")][
      Int.random(in: 0...2, using: &random)]
    let (first, second) = (Int.random(in: 0...99, using: &random), Int.random(in: 0...99, using: &random))
    let kind = Int.random(in: 0...5, using: &random)
    try await device.write { db in
      func pick(_ type: String, _ number: Int) throws -> Int64? {
        let table: SQL = "\(identifier: "Offline\(type)") WHERE isDeleted = 0"
        guard let count = try db.fetchOne("SELECT count(*) FROM \(table)", as: Int.self), count > 0 else { return nil }
        return try db.fetchOne(
          "SELECT rowid FROM \(table) ORDER BY uuid LIMIT 1 OFFSET \(number % count)", as: Int64.self)
      }
      guard let record = try pick(child, first), let other = try pick(parent, second) else { return }
      let table = "Offline\(child)"
      let reference = "\(parent.lowercased())Id"
      switch kind {
      case 0...3:
        _ = try db.execute(
          "UPDATE \(identifier: table) SET \(identifier: reference) = \(other) WHERE rowid = \(record)")
      case 4: _ = try db.execute("UPDATE \(identifier: table) SET title = \("t\(step)") WHERE rowid = \(record)")
      default:
        _ = try db.execute(
          "INSERT INTO \(identifier: table) (uuid, \(identifier: reference)) VALUES (\(uuid(4, step)), \(other))")
      }
    }
  }

  /// Returns the records below some projects, each with its parent.
  private static func content(_ device: Device, of projects: [Int]) async throws -> [String] {
    let list = projects.map { "'\(uuid(0, $0))'" }.joined(separator: ", ")
    return try await device.values(
      """
      SELECT room.uuid || project.uuid || coalesce(room.title, '') FROM OfflineRoom AS room
        JOIN OfflineProject AS project USING (projectId) WHERE project.uuid IN (\(raw: list)) AND room.isDeleted = 0
      UNION ALL SELECT box.uuid || room.uuid || coalesce(box.title, '') FROM OfflineBox AS box
        JOIN OfflineRoom AS room USING (roomId) JOIN OfflineProject AS project USING (projectId)
        WHERE project.uuid IN (\(raw: list)) AND box.isDeleted = 0
      UNION ALL SELECT reading.uuid || box.uuid || coalesce(reading.title, '') FROM OfflineReading AS reading
        JOIN OfflineBox AS box USING (boxId) JOIN OfflineRoom AS room USING (roomId)
        JOIN OfflineProject AS project USING (projectId) WHERE project.uuid IN (\(raw: list)) AND reading.isDeleted = 0
      ORDER BY 1
      """)
  }

  @Test(
    "A device has all records of its followed projects wherever they move, and no others once compared"
  )
  func randomMoves() async throws {
    let seed = UInt64.random(in: 0...999_999)
    print("ScopeMovesTests randomMoves: seed \(seed)")
    var random = Seeded(seed)
    let server = try LocalServer(schemas: [Self.schema])
    let scopes = [[1, 2, 3, 4], [1, 2], [3]]
    var devices: [Device] = []
    for name in ["ada", "ben", "cem"] { devices.append(try await Device(name, at: server, schema: Self.schema)) }
    try await Self.fill(devices[0])
    try await devices[0].sync()
    for (device, scope) in zip(devices, scopes).dropFirst() {
      try device.follow(scope.map { Self.uuid(0, $0) }.joined(separator: ","))
      try await device.sync()
    }
    for step in 1...60 {
      let device = devices[Int.random(in: 0...2, using: &random)]
      try await Self.act(device, step, &random)
      if Bool.random(using: &random) { try await device.sync(RoundRequest(pulls: Bool.random(using: &random))) }
      guard step.isMultiple(of: 15) else { continue }
      for _ in 0..<3 { for device in devices { try await device.sync() } }
      for (device, scope) in zip(devices, scopes) {
        #expect(try device.conflicts().isEmpty, "seed \(seed)")
        let expected = Set(try await Self.content(devices[0], of: scope))
        let actual = Set(try await Self.content(device, of: scope))
        #expect(expected.subtracting(actual).sorted() == [], "seed \(seed), step \(step), \(scope)")
      }
    }
    // A subtree that has left the followed projects stays unchanged on the device until the next full comparison.
    for (device, scope) in zip(devices, scopes) {
      try await device.sync(RoundRequest(isFull: true))
      let expected = try await Self.content(devices[0], of: scope)
      #expect(try await Self.content(device, of: scope) == expected, "seed \(seed), \(scope)")
      #expect(try await device.sync(RoundRequest(isFull: true)).repaired == 0, "seed \(seed)")
    }
  }

  // Found by the simulation, seed 10414: the records were missing until the next full comparison.
  @Test("A choice of projects during a comparison is followed by another comparison")
  func choiceDuringComparison() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await Self.fill(one)
    for device in [one, two] { try await device.sync() }
    try two.follow(Self.uuid(0, 1))
    let remote = InterveningRemote(remote: await two.worker.remote)
    remote.interveneInComparisons { try two.follow("all") }
    let worker = SyncWorker(vault: two.vault, remote: remote, monitor: NetworkMonitor(fixed: .online))
    for _ in 0..<2 { #expect(try await worker.sync(RoundRequest()).outcome == .done) }
    #expect(try await Self.content(two, of: [1, 2, 3, 4]) == Self.content(one, of: [1, 2, 3, 4]))
  }
}
