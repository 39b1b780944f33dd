import CipherSQL
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// The references that are moved from the table of new references to the ordered one.
@Suite struct StoredReferenceTests {
  // A member, because a folder goes with the last reference to it.
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.path + "/records.db", key: PlainKey.random())
    try Migrator(schemas: [BookkeepingSchema.schema]).apply(to: database)
  }

  /// The records that a test has written, with the target of each.
  private struct Written {
    var rows: [String: RecordRow] = [:]
    var last: Int64 = 0

    mutating func make(_ uuid: String, target: String?) -> RecordRow {
      last += 1
      let record = ServerRecord(
        name: RecordName("Room", uuid), serverId: rows[uuid]?.record.serverId ?? last, sequence: last, createdAt: 1,
        state: RecordState(fields: [:], syncVersion: last, updatedAt: last), fieldVersions: [:], firstVersion: 1)
      return RecordRow(
        record: record, digest: "\(last)", storedAt: last,
        keys: RecordKeys(references: target.map { ["projectId": $0] } ?? [:]))
    }

    func uuids(_ target: String) -> [String] {
      rows.values.filter { $0.keys.references["projectId"] == target }.map(\.name.entityUuid).sorted()
    }
  }

  private static let targets = ["a", "b", "c", "d"]

  @Test(
    "A record is found by its reference and by its bucket after any changes, whether its references are moved or new",
    arguments: [1, UInt64.random(in: 0...9_999_999)])
  func areFound(seed: UInt64) throws {
    print("StoredReferenceTests areFound: seed \(seed)")
    var generator = Seeded(seed)
    func random(_ count: Int) -> Int { generator.number(0..<count) }
    var written = Written()
    var settled = 0
    for step in 0..<120 {
      var changes = AccountChanges()
      for _ in 0..<random(12) {
        let target = random(5) == 0 ? nil : Self.targets[random(4)]
        let known = written.rows.keys.sorted()
        let old = known.isEmpty || random(3) > 0 ? nil : written.rows[known[random(known.count)]]
        if let old, changes.records[old.name] != nil { continue }
        let new = old != nil && random(3) == 0 ? nil : written.make(old?.name.entityUuid ?? newUuid(), target: target)
        guard let name = new?.name ?? old?.name else { continue }
        changes.records[name] = (old, new)
        written.rows[name.entityUuid] = new
      }
      let searches = random(6) == 0
      try database.write { connection in
        let writer = EmbeddedRowsWriter(connection, mostNewReferences: 40)
        try writer.apply(changes)
        if searches { try check(writer, written, "seed \(seed), step \(step)") }
      }
      try database.read { connection in
        if try connection.fetchOne("SELECT count(*) FROM ServerNewReference", as: Int.self) == 0 { settled += 1 }
        try check(EmbeddedRows(connection), written, "seed \(seed), step \(step)")
      }
    }
    #expect(settled > 2 && settled < 110, "seed \(seed)")
  }

  private func check(_ rows: EmbeddedRows, _ written: Written, _ place: String) throws {
    for target in Self.targets {
      let expected = written.uuids(target)
      let value = ReferenceValue(entityType: "Room", reference: "projectId", target: target)
      #expect(try rows.dependents(value, after: nil, limit: .max) == expected, "\(place)")
      guard expected.count > 3 else { continue }
      #expect(try rows.dependents(value, after: expected[0], limit: 2) == Array(expected[1...2]), "\(place)")
    }
    let used = Set(written.rows.values.compactMap { $0.keys.references["projectId"] })
    #expect(try rows.targets(of: "Room", reference: "projectId", among: Self.targets + ["e"]) == used, "\(place)")
    let buckets = Array(Set(written.rows.keys.map(RecordDigest.bucket(of:))).sorted().prefix(3))
    let digests = try rows.recordDigests(of: "Room", buckets: buckets, projects: nil)
    let expected = written.rows.values.filter { buckets.contains(RecordDigest.bucket(of: $0.name.entityUuid)) }
    #expect(Set(digests.map(\.entityUuid)) == Set(expected.map(\.name.entityUuid)), "\(place)")
    #expect(digests.count == expected.count, "\(place)")
  }

  @Test("References that an account has before new ones have their own table are found by bucket as well")
  func areMigrated() throws {
    let old = try Database(path: folder.path + "/old.db", key: PlainKey.random())
    let files = BookkeepingSchema.schema.migrations
    try Migrator(schemas: [Schema(name: "server", migrations: files.filter { $0.version < 11 })]).apply(to: old)
    try old.write { connection in
      try connection.execute(
        """
        INSERT INTO ServerRecord VALUES (1, 'Room', '01a21d91-1caf-7008-870d-04c5b3bc69b4', 1, 1, 1, 0, 0, NULL, NULL, NULL, 'd',
          1, 1, 1, '{}', '[]', '{}', '{}', '{}', '[]', '{}')
        """)
    }
    try Migrator(schemas: [BookkeepingSchema.schema]).apply(to: old)
    try old.read { connection in
      let digests = try EmbeddedRows(connection).recordDigests(of: "Room", buckets: ["b4", "b5"], projects: nil)
      #expect(digests.map(\.digest) == ["d"])
    }
  }
}
