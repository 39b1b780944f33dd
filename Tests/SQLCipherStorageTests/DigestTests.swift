import CipherSQL
import Foundation
import RestorationModel
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SQLCipherStorage
@testable import ServerStorage

/// Digests that each write keeps up to date.
@Suite struct DigestTests {
  private let one: OneAccount
  private var account: AccountName { one.account }

  init() throws { one = try OneAccount() }

  /// The digests of a kind, from the digests of all its records.
  private func summed(_ type: String, _ projects: Set<String>?, in data: any RecordReading) throws -> DigestSummary {
    var sum = DigestSum()
    for bucket in 0..<256 {
      let digits = String(bucket, radix: 16)
      let name = digits.utf8.count == 1 ? "0" + digits : digits
      for record in try data.recordDigests(of: type, buckets: [name], projects: projects) { sum.add(record) }
    }
    return sum.summary
  }

  // With seed 7001839 a project is left without rooms.
  @Test(
    "After any writes the digests of buckets are the sums of those of their records, per project and in all",
    arguments: [7_001_839, UInt64.random(in: 0...9_999_999)])
  func areKeptByWrites(seed: UInt64) async throws {
    let storage = try one.storage()
    defer { storage.close() }
    print("SyncServerTests areKeptByWrites: seed \(seed)")
    let houses = (0..<3).map { _ in newUuid() }
    try await storage.write(account) { data in
      var generator = Seeded(seed)
      func random(_ count: Int) -> Int { generator.number(0..<count) }
      var rooms: [String] = []
      for house in houses {
        let fields: SyncObject = ["title": "Elm"]
        _ = try data.store(
          RecordName("Project", house), over: nil, RecordState(fields: fields, updatedAt: 1), createdAt: 1, at: 1)
      }
      for time in 2..<Int64(60) {
        let house = SyncValue.text(houses[random(3)])
        guard rooms.count > 3, random(3) > 0 else {
          rooms.append(newUuid())
          let fields: SyncObject = ["title": "Hall", "projectId": house]
          _ = try data.store(
            RecordName("Room", rooms[rooms.count - 1]), over: nil, RecordState(fields: fields, updatedAt: time),
            createdAt: time, at: time)
          continue
        }
        let before = try #require(try data.record(RecordName("Room", rooms[random(rooms.count)])))
        let patch =
          random(3) == 0
          ? RecordPatch(isDeleted: !before.state.isDeleted, updatedAt: time)
          : RecordPatch(fields: ["title": .text("T\(time)"), "projectId": house], updatedAt: time)
        _ = try data.store(
          before.name, over: before, before.state.applying(patch), createdAt: 1, at: time)
      }
    }
    try await storage.read(account) { data in
      for projects in [nil, Set(houses.prefix(1)), Set(houses.prefix(2))] {
        let digests = try data.entityDigests(projects: projects)
        for type in ["Project", "Room"] {
          let expected = try summed(type, projects, in: data)
          // An entity without records in the projects has no summary.
          #expect(digests[type] == (expected.count == 0 ? nil : expected), "seed \(seed), \(type)")
          var buckets = DigestSum()
          for bucket in try data.bucketDigests(of: type, projects: projects).values {
            buckets.add(try #require(DigestSum(bucket)))
          }
          #expect(buckets.summary == expected)
        }
      }
    }
  }

  @Test("The keys and digests of an account can be computed again from its records")
  func areRebuilt() async throws {
    let first = try one.storage()
    try await first.write(account) { data in
      for number in 0..<40 {
        let fields: SyncObject = ["title": .text("House \(number)")]
        _ = try data.store(
          RecordName("Project", newUuid()), over: nil, RecordState(fields: fields, updatedAt: 1), createdAt: 1, at: 1)
      }
    }
    let expected = try await first.read(account) { try $0.entityDigests(projects: nil) }
    try await first.write(account) { data in
      let writer = try #require(data as? AccountWriter)
      let connection = try #require(writer.rows as? EmbeddedRowsWriter).writer
      try connection.execute("DELETE FROM ServerBucket")
      try connection.execute("UPDATE ServerRecord SET digest = 'old'")
      try writer.rebuild()
    }
    #expect(try await first.read(account) { try $0.entityDigests(projects: nil) } == expected)
    first.close()
  }

  @Test("No query for digests, records, keys or references reads a whole table")
  func areLookedUp() async throws {
    let storage = try one.storage()
    defer { storage.close() }
    let plans = try await storage.read(account) { data -> [String] in
      let reader = try #require(data as? AccountReader)
      let connection = try #require(reader.rows as? EmbeddedRows).connection
      return try [
        """
        EXPLAIN QUERY PLAN SELECT record.digest FROM ServerReference AS member CROSS JOIN ServerRecord AS record
          ON record.entityType = member.entityType AND record.entityUuid = member.entityUuid
        WHERE member.entityType = 'Room' AND member.reference = ',bucket'
          AND member.target IN (SELECT value FROM json_each('["ab"]')) AND record.isDeleted = 0
        """,
        "EXPLAIN QUERY PLAN SELECT bucket FROM ServerBucket WHERE entityType = 'Room' AND project IN ('', 'a')",
        "EXPLAIN QUERY PLAN SELECT keys FROM ServerRecord WHERE entityType = 'Room' AND entityUuid = 'a'",
        "EXPLAIN QUERY PLAN SELECT entityUuid FROM ServerRecord WHERE entityType = 'Room' AND serverId = 1",
        """
        EXPLAIN QUERY PLAN SELECT keys FROM ServerRecord
        WHERE sequence > 5 AND 1 AND (project IS NULL OR project IN ('a')) ORDER BY sequence
        """,
        """
        EXPLAIN QUERY PLAN SELECT sequence FROM ServerRecord INDEXED BY ServerRecord_deletions
        WHERE isDeleted = 1 AND (storedAt, sequence) > (1, 2) AND storedAt < 9 AND firstVersion > 0
        ORDER BY storedAt, sequence LIMIT 5
        """,
        """
        EXPLAIN QUERY PLAN SELECT entityUuid FROM ServerUniqueKey
        WHERE entityType = 'Room' AND keyName = 'a' AND value = 'b'
        """,
        """
        EXPLAIN QUERY PLAN SELECT entityUuid FROM ServerReference
        WHERE entityType = 'Room' AND reference = 'projectId' AND target = 'a' AND entityUuid > ''
        ORDER BY entityUuid LIMIT 5
        """,
        """
        EXPLAIN QUERY PLAN SELECT DISTINCT target FROM ServerReference WHERE entityType = 'Photo' AND reference = ',content'
          AND target IN (SELECT value FROM json_each('["ab"]'))
        """,
      ].flatMap { (sql: SQL) in
        try connection.fetchRows(sql, as: Int.self, Int.self, Int.self, String.self).map { $0.3 }
      }
    }
    #expect(plans.allSatisfy { !$0.hasPrefix("SCAN") || $0.hasPrefix("SCAN json_each") }, "\(plans)")
    #expect(plans.allSatisfy { !$0.contains("TEMP B-TREE FOR ORDER") }, "\(plans)")
  }

  @Test("A query for references looks up the moved ones, and reads and sorts the new ones alone")
  func newReferencesAreRead() async throws {
    let storage = try one.storage()
    defer { storage.close() }
    let plan = try await storage.read(account) { data -> [String] in
      let reader = try #require(data as? AccountReader)
      let connection = try #require(reader.rows as? EmbeddedRows).connection
      return try connection.fetchRows(
        """
        EXPLAIN QUERY PLAN SELECT entityUuid FROM ServerReference
        WHERE entityType = 'Room' AND reference = 'projectId' AND target = 'a' AND entityUuid > ''
        UNION ALL
        SELECT entityUuid FROM ServerNewReference
        WHERE entityType = 'Room' AND reference = 'projectId' AND target = 'a' AND entityUuid > ''
        ORDER BY entityUuid LIMIT 5
        """, as: Int.self, Int.self, Int.self, String.self
      ).map { $0.3 }
    }
    #expect(plan.filter { $0.hasPrefix("SCAN") } == ["SCAN ServerNewReference"], "\(plan)")
    #expect(plan.filter { $0.contains("SEARCH ServerReference USING") }.count == 1, "\(plan)")
    #expect(plan.filter { $0.contains("TEMP B-TREE FOR ORDER") }.count == 1, "\(plan)")
    #expect(plan.last?.contains("TEMP B-TREE FOR ORDER") == true, "the new references are the second part: \(plan)")
  }
}
