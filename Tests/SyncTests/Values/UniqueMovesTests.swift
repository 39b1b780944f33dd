import CipherSQL
import Foundation
import SyncModel
import TestSupport
import Testing

@testable import VaultStore
@testable import SyncEngine

/// UNIQUE values that move between records on one device. The moves cause no conflict, and both devices agree.
@Suite struct UniqueMovesTests {
  private static let schema = Schema(
    name: "things",
    migrations: [
      MigrationFile(
        version: 1, name: "things",
        sql: """
          CREATE TABLE OfflineThing (
            thingId INTEGER PRIMARY KEY, serverId INTEGER,
            uuid TEXT NOT NULL UNIQUE CHECK (uuid GLOB '????????-????-????-????-????????????'),
            code TEXT UNIQUE, place TEXT, shelf INTEGER,
            createdAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (createdAt IS strftime('%Y-%m-%dT%H:%M:%fZ', createdAt)),
            updatedAt TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) CHECK (updatedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', updatedAt)),
            lastSyncedAt TEXT CHECK (lastSyncedAt IS strftime('%Y-%m-%dT%H:%M:%fZ', lastSyncedAt)),
            syncStatus TEXT NOT NULL DEFAULT 'pending', syncVersion INTEGER NOT NULL DEFAULT 0,
            isDirty INTEGER NOT NULL DEFAULT 1 CHECK (isDirty IN (0, 1)), isDeleted INTEGER NOT NULL DEFAULT 0 CHECK (isDeleted IN (0, 1)),
            UNIQUE (place, shelf)
          ) STRICT;
          INSERT INTO SyncedEntity (entityType, tableName, schemaName) VALUES ('Thing', 'OfflineThing', 'things');
          """)
    ])

  private static func uuid() -> String { UUID.version7().uuidString.lowercased() }

  @Test("UNIQUE values that swap between records on one device reach another device without a conflict")
  func moves() async throws {
    let seed = UInt64.random(in: 0...999_999)
    var random = Seeded(seed)
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { db in
      for number in 1...5 {
        let uuid = String(format: "00000000-0000-7000-8000-%012d", number)
        _ = try db.execute(
          "INSERT INTO OfflineThing (uuid, code, place, shelf) VALUES (\(uuid), \("c\(number)"), 'p', \(number))")
      }
    }
    try await one.sync()
    try await two.sync()
    for _ in 0..<6 {
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let order = Array(1...5).shuffled(using: &random)
        try await one.write { db in
          _ = try db.execute("UPDATE OfflineThing SET code = 'x' || thingId, shelf = -thingId")
          for (index, number) in order.enumerated() {
            _ = try db.execute(
              "UPDATE OfflineThing SET code = \("c\(number)"), shelf = \(number) WHERE thingId = \(index + 1)")
          }
        }
      }
      let report = try await one.sync()
      #expect(report.conflicts == 0 && report.failed == 0, "seed \(seed)")
      try await two.sync()
      #expect(try await one.digests() == two.digests())
      #expect(
        try await one.values("SELECT code || shelf FROM OfflineThing ORDER BY uuid")
          == two.values("SELECT code || shelf FROM OfflineThing ORDER BY uuid"))
      #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
      #expect(try await one.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
    }
  }

  @Test("A deletion is applied although another record has the deleted record's last UNIQUE value")
  func deletedWithTakenValue() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { db in
      for code in ["a", "b"] {
        _ = try db.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), \(code))")
      }
    }
    try await one.sync()
    try await two.sync()
    // Two changes wait for the other device: record a takes the value x, and is then deleted.
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'x' WHERE code = 'a'") }
    try await one.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineThing WHERE code = 'x'") }
    try await one.sync()
    // The other device gives the value to its record b before it pulls these changes.
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'x' WHERE code = 'b'") }
    try await two.sync(RoundRequest(pulls: false))
    try await two.sync()
    #expect(try await two.values("SELECT code FROM OfflineThing WHERE isDeleted = 0") == ["x"])
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
    try await one.sync()
    #expect(try await one.digests() == two.digests())
  }

  /// Gives two devices a record with the code a and a record with the code b, whose place is the UUID of the first one.
  /// - Returns: the UUID.
  private func insertPair(_ one: Device, _ two: Device) async throws -> String {
    let uuid = Self.uuid()
    try await one.write { db in
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(uuid), 'a')")
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code, place) VALUES (\(Self.uuid()), 'b', \(uuid))")
    }
    for device in [one, two] { try await device.sync() }
    return uuid
  }

  // Found by the simulation, seed 11230, world 4: the values that the row kept were mistaken for the server's
  // values.
  @Test(
    "A record moved and deleted elsewhere is restored as the server has it, although its values are taken",
    arguments: [true, false])
  func restoredWithTakenValue(isEdited: Bool) async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    let uuid = try await insertPair(one, two)
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'x' WHERE code = 'a'") }
    try await one.sync()
    try await one.write { _ = try $0.execute("DELETE FROM OfflineThing WHERE code = 'x'") }
    try await one.sync()
    try await Task.sleep(for: .milliseconds(20))
    // The base of the other record contains the UUID of the first record, so the row of the first record stays.
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 'x', place = 'z' WHERE code = 'b'")
      if isEdited { _ = try db.execute("UPDATE OfflineThing SET place = 'q' WHERE code = 'a'") }
    }
    try await two.sync(RoundRequest(pushes: false))
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 'y' WHERE code = 'x'")
      if !isEdited { _ = try db.execute("UPDATE OfflineThing SET isDeleted = 0 WHERE uuid = \(uuid)") }
    }
    for _ in 0..<3 {
      for conflict in try two.conflicts() { try two.resolve(conflict.conflictId, takesLocal: true) }
      try await two.sync()
      try await one.sync()
    }
    let things: SQL = "SELECT code || coalesce(place, '') FROM OfflineThing WHERE isDeleted = 0 ORDER BY uuid"
    #expect(try await two.values(things) == [isEdited ? "xq" : "x", "yz"])
    #expect(try await one.values(things) == two.values(things))
    #expect(try await two.sync(RoundRequest(isFull: true)).repaired == 0)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
  }

  @Test(
    "A deleted record gives its UNIQUE value up to another one and is restored as the server has it",
    arguments: [true, false])
  func restoredWithoutValue(isFree: Bool) async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    let uuid = try await insertPair(one, two)
    // The base of the other record contains the UUID of the first record, so the row of the first record stays.
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET place = 'z' WHERE code = 'b'") }
    try await one.write { _ = try $0.execute("DELETE FROM OfflineThing WHERE code = 'a'") }
    try await one.sync()
    try await one.write { _ = try $0.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), 'a')") }
    try await one.sync()
    try await two.sync(RoundRequest(pushes: false))
    let codes: SQL = "SELECT code FROM OfflineThing WHERE isDeleted = 0 ORDER BY code"
    #expect(try await two.values(codes) == ["a", "b"])
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET isDeleted = 0 WHERE uuid = \(uuid)") }
    if isFree { try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'c' WHERE code = 'a'") } }
    try await one.sync()
    for _ in 0..<3 {
      for conflict in try two.conflicts() { try two.resolve(conflict.conflictId, takesLocal: isFree) }
      try await two.sync()
      try await one.sync()
    }
    #expect(try await two.values(codes) == (isFree ? ["a", "b", "c"] : ["a", "b"]))
    #expect(try await one.values(codes) == two.values(codes))
    #expect(try await one.digests() == two.digests())
    #expect(try await two.sync(RoundRequest(isFull: true)).repaired == 0)
    #expect(try await two.values("SELECT reason FROM SyncInbox") == [])
  }

  @Test(
    "A restored server's version that cannot be stored yet is no base of a push, and no value is lost",
    arguments: [true, false])
  func versionOfNewEpochWithTakenValue(isEdited: Bool) async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    func rename(_ device: Device, to code: String) async throws {
      try await device.write { _ = try $0.execute("UPDATE OfflineThing SET code = \(code) WHERE thingId = 1") }
      try await device.sync()
    }
    try await one.write { _ = try $0.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), 'a')") }
    for device in [one, two] { try await device.sync() }
    let backup = try await server.backUp()
    try await rename(one, to: "b")
    try await server.restore(backup)
    // The first device changes another field. It also gives its own new record the code that the second device
    // chooses.
    try await one.write { db in
      if isEdited { _ = try db.execute("UPDATE OfflineThing SET place = 'q' WHERE thingId = 1") }
      _ = try db.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), 'x')")
    }
    try await Task.sleep(for: .milliseconds(20))
    try await rename(two, to: "x")
    try await one.sync()
    for _ in 0..<3 {
      for conflict in try one.conflicts() { try one.resolve(conflict.conflictId, takesLocal: false) }
      try await one.sync()
      try await two.sync()
    }
    #expect(try await one.values("SELECT reason FROM SyncInbox") == [])
    #expect(try await one.digests() == two.digests())
    let texts =
      try await one.values("SELECT code || coalesce(place, '') FROM OfflineThing WHERE isDeleted = 0")
      + one.conflictTexts()
    for value in ["b", "x"] + (isEdited ? ["q"] : []) { #expect(texts.contains { $0.contains(value) }, "\(value)") }
  }

  // Seed 11291 of the simulation.
  @Test("A record whose version waits in the inbox follows its deletion in a new epoch of the server")
  func deletedInNewEpoch() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { _ = try $0.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), 'a')") }
    for device in [one, two] { try await device.sync() }
    try await server.restore(try await server.backUp())
    // A merged operation leaves this state while another record has the UNIQUE value of the merged version.
    _ = try await one.vault.sync { try $0.connection.execute("UPDATE OfflineThing SET syncVersion = 0") }
    try await two.write { _ = try $0.execute("DELETE FROM OfflineThing") }
    try await two.sync()
    for device in [one, two, one] { try await device.sync() }
    for device in [one, two] {
      #expect(try await device.values("SELECT code FROM OfflineThing WHERE isDeleted = 0") == [])
    }
    #expect(try await one.sync(RoundRequest(isFull: true)).repaired == 0)
  }

  // Seed 11251 of the simulation: the resolution was pushed endlessly.
  @Test(
    "A conflict opened before a server restore is resolved on top of the restored server's version",
    .timeLimit(.minutes(5)), arguments: [true, false])
  func resolvedAfterNewEpoch(takesLocal: Bool) async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    let three = try await Device("cleo", at: server, schema: Self.schema)
    func rename(_ device: Device, to code: String) async throws {
      try await device.write { _ = try $0.execute("UPDATE OfflineThing SET code = \(code) WHERE thingId = 1") }
      try await device.sync()
    }
    func insert(_ code: String, on device: Device) async throws {
      try await device.write {
        _ = try $0.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), \(code))")
      }
    }
    try await insert("a", on: one)
    for device in [one, two, three] { try await device.sync() }
    let backup = try await server.backUp()
    for code in ["b", "c"] { try await rename(one, to: code) }
    try await insert("k", on: three)
    try await three.sync()
    try await rename(one, to: "k")
    let conflict = try #require(try one.conflicts().first)
    #expect(conflict.conflictType == "not_unique")
    try await server.restore(backup)
    // The value that the second device gives the record belongs to another record on the first device.
    try await insert("x", on: one)
    try await Task.sleep(for: .milliseconds(20))
    try await rename(two, to: "x")
    try await one.sync()
    // The remote version needs its value to be free here.
    if !takesLocal { try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'y' WHERE code = 'x'") } }
    let open = try #require(try one.conflicts().first { $0.entityUuid == conflict.entityUuid })
    try one.resolve(open.conflictId, takesLocal: takesLocal, choices: takesLocal ? ["code": .value("z")] : [:])
    for _ in 0..<3 {
      for device in [one, two, three] {
        try await device.sync()
        for conflict in try device.conflicts() { try device.resolve(conflict.conflictId, takesLocal: false) }
      }
    }
    for device in [one, two, three] {
      #expect(try await device.values("SELECT reason FROM SyncInbox") == [])
      #expect(try await device.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
      #expect(try await device.digests() == one.digests())
    }
    let code = try await two.value("SELECT code FROM OfflineThing WHERE uuid = \(conflict.entityUuid)", as: String.self)
    #expect(code == (takesLocal ? "z" : "x"))
  }

  @Test(
    "An operation whose values the server already has is acknowledged at its base version",
    .timeLimit(.minutes(5)))
  func acknowledgedWithoutEffect() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { _ = try $0.execute("INSERT INTO OfflineThing (uuid, code) VALUES (\(Self.uuid()), 'a')") }
    for device in [one, two] { try await device.sync() }
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'b'") }
    try await two.sync()
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'b'") }
    // The base has the server's version number but other content, as after an earlier defect or in a damaged vault.
    try await one.vault.sync { transaction in
      try transaction.connection.execute("UPDATE OfflineThing SET syncVersion = 2")
      try transaction.connection.execute("UPDATE SyncBase SET syncVersion = 2")
    }
    try await one.sync(RoundRequest(pulls: false))
    #expect(try await one.values("SELECT status FROM OfflineSyncQueue WHERE completedAt IS NULL") == [])
    #expect(try await one.values("SELECT code || syncVersion || isDirty FROM OfflineThing") == ["b20"])
  }

  /// Simulation seed 5001: the title that another device had edited became the older one again.
  @Test("A decision about a UNIQUE value keeps the other edits of the server's version") func otherEdits() async throws
  {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { db in
      _ = try db.execute(
        """
        INSERT INTO OfflineThing (uuid, code, place, shelf)
        VALUES (\(Self.uuid()), 'a', 'p', 1), (\(Self.uuid()), 'b', 'p', 2)
        """)
    }
    for device in [one, two] { try await device.sync() }
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET place = 'q', shelf = 9 WHERE code = 'b'") }
    for device in [one, two] { try await device.sync() }
    // Both edits together would take the place of the other record, so this device cannot merge them.
    try await one.write { _ = try $0.execute("UPDATE OfflineThing SET code = 'edited', shelf = 9 WHERE code = 'a'") }
    try await two.write { _ = try $0.execute("UPDATE OfflineThing SET place = 'q' WHERE code = 'a'") }
    for device in [one, two] { try await device.sync() }
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique")
    try two.resolve(conflict.conflictId, takesLocal: true, choices: ["place": .value("r")])
    for device in [two, one] { try await device.sync() }
    let values: SQL = "SELECT code || place || shelf FROM OfflineThing ORDER BY 1"
    #expect(try await one.values(values) == ["bq9", "editedr1"])
    #expect(try await one.digests() == two.digests())
  }

  /// Simulation seed 7095: the server's version has a UNIQUE value of a record whose own conflict is open.
  @Test("Two conflicts about UNIQUE values end one after the other") func twoConflicts() async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    try await one.write { db in
      for (code, shelf) in [("a", 1), ("b", 2), ("c", 3)] {
        _ = try db.execute(
          "INSERT INTO OfflineThing (uuid, code, place, shelf) VALUES (\(Self.uuid()), \(code), 'p', \(shelf))")
      }
    }
    for device in [one, two] { try await device.sync() }
    try await one.write { db in
      _ = try db.execute("UPDATE OfflineThing SET shelf = 9 WHERE code = 'a'")
      _ = try db.execute("UPDATE OfflineThing SET code = 'same' WHERE code = 'b'")
    }
    try await two.write { db in
      _ = try db.execute("UPDATE OfflineThing SET code = 'same' WHERE code = 'a'")
      _ = try db.execute("UPDATE OfflineThing SET shelf = 9 WHERE code = 'c'")
    }
    for device in [one, two] { try await device.sync() }
    var decided = 0
    while let conflict = try two.conflicts().first, decided < 6 {
      let isCode = conflict.fields == ["code"]
      try two.resolve(
        conflict.conflictId, takesLocal: true, choices: isCode ? ["code": .value("d")] : ["shelf": .value("7")])
      decided += 1
      for device in [two, one] { try await device.sync() }
    }
    #expect(try two.conflicts().isEmpty)
    #expect(try await one.values("SELECT code FROM OfflineThing ORDER BY 1") == ["c", "d", "same"])
    #expect(try await one.digests() == two.digests())
  }

  @Test(
    "A conflict about a key of two columns ends when either column gets another value", arguments: ["place", "shelf"])
  func oneOtherValueIsEnough(_ field: String) async throws {
    let server = try LocalServer(schemas: [Self.schema])
    let one = try await Device("ada", at: server, schema: Self.schema)
    let two = try await Device("ben", at: server, schema: Self.schema)
    for device in [one, two] {
      try await device.write { db in
        _ = try db.execute(
          "INSERT INTO OfflineThing (uuid, place, shelf) VALUES (\(Self.uuid()), 'p', 1)")
      }
      try await device.sync()
    }
    let conflict = try #require(try two.conflicts().first)
    #expect(conflict.conflictType == "not_unique" && Set(conflict.fields) == ["place", "shelf"])
    try two.resolve(
      conflict.conflictId, takesLocal: true, choices: [field: .value(field == "place" ? "q" : "2")])
    for device in [two, one] { try await device.sync() }
    #expect(try two.conflicts().isEmpty)
    #expect(
      try await one.values("SELECT place || shelf FROM OfflineThing ORDER BY 1")
        == ["p1", field == "place" ? "q1" : "p2"])
    #expect(try await one.digests() == two.digests())
  }
}
