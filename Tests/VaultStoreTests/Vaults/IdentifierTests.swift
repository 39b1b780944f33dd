import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing

@testable import VaultStore

/// A word names one record, and the look-up of a prefix costs a range of an index.
@Suite("Identifiers") struct IdentifierTests {
  @Test(
    "A word is a UUID, a prefix of one or a local id, whatever records exist",
    arguments: [
      ("01a1fd64-7573-7000-8e94-46657598a452", .uuid(UUID(uuidString: "01a1fd64-7573-7000-8e94-46657598a452")!)),
      ("01A1FD6475737000-8E94-46657598A452", .uuid(UUID(uuidString: "01a1fd64-7573-7000-8e94-46657598a452")!)),
      ("01a1", .prefix("01a1")), ("01A1FD64-7", .prefix("01a1fd64-7")), ("01a1fd647573", .prefix("01a1fd64-7573")),
      ("0193", .prefix("0193")), ("00000000", .prefix("00000000")), ("7", .local(7)), ("0", .local(0)),
      ("1234", .local(1234)), ("12345678", .local(12_345_678)), ("12345678-", .prefix("12345678")),
      ("123e", .prefix("123e")), ("019", nil), ("", nil), ("-", nil), ("abc", nil), ("xyz1", nil), ("01a1 ", nil),
      ("99999999999999999999", nil), ("01a1fd64-7573-7000-8e94-46657598a4521", nil), ("٠١٢٣", nil),
    ] as [(String, Identifier?)])
  func words(word: String, expected: Identifier?) { #expect(Identifier(word) == expected) }

  @Test("Digits are a prefix where no local id is allowed") func digitsOfOtherIDs() {
    #expect(Identifier("1234", isRecord: false) == .prefix("1234"))
    #expect(Identifier("123", isRecord: false) == nil)
    #expect(Identifier("nothing", isRecord: false) == .prefix("nothing"))
  }

  @Test("The look-up of a prefix reads a range of the index, for every entity and for the tables of sync")
  func prefixesUseTheIndex() throws {
    let database = try Database.inMemory()
    try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
    let entities = try database.read { try Entities.read(from: $0) }
    var places: [(table: String, column: String, condition: SQL?)] = [
      ("OfflineSyncQueue", "operationId", nil), ("OfflineConflictResolution", "conflictId", nil),
    ]
    for entity in entities.all {
      for condition in [nil, "+isDeleted = 0", "+isDeleted = 1"] as [SQL?] {
        places.append((entity.table.name, "uuid", condition))
      }
    }
    try database.read { connection in
      for place in places {
        let rows = IdentifierSearch.rows(
          beginningWith: "01a1", in: place.table, column: place.column, condition: place.condition)
        let query: SQL =
          "EXPLAIN QUERY PLAN SELECT \(identifier: place.column) \(rows) ORDER BY \(identifier: place.column)"
        let plan = try connection.fetchRows(query, as: Int.self, Int.self, Int.self, String.self).map(\.3)
        #expect(plan.count == 1, "\(place.table): \(plan)")
        #expect(plan.first?.hasPrefix("SEARCH \(place.table) USING ") == true, "\(plan)")
        #expect(plan.first?.hasSuffix("(\(place.column)>? AND \(place.column)<?)") == true, "\(plan)")
      }
    }
  }

  @Test("The ids that a completion offers are found by an index, without a sort, for every entity")
  func completionsUseTheIndex() throws {
    let database = try Database.inMemory()
    try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
    let entities = try database.read { try Entities.read(from: $0) }
    try database.read { connection in
      for entity in entities.all {
        for (text, step) in [("01a1", "SEARCH \(entity.table.name) USING "), ("", "SCAN \(entity.table.name)")] {
          for standing in [RecordStanding.live, .deleted] {
            let query: SQL = "EXPLAIN QUERY PLAN \(Vault.named(text, entity, standing, 100))"
            let plan = try connection.fetchRows(query, as: Int.self, Int.self, Int.self, String.self).map(\.3)
            #expect(plan.contains { $0.hasPrefix(step) }, "\(plan)")
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
          }
        }
      }
    }
  }

  @Test("A range has exactly the ids that begin with the prefix") func rangesAreExact() throws {
    let database = try Database.inMemory()
    var random = Seeded(of: "ranges of ids")
    let ids = (0..<500).map { _ in
      UUID.random(using: &random).uuidString.lowercased()
    }
    try database.write { connection in
      try connection.execute("CREATE TABLE T (uuid TEXT NOT NULL UNIQUE) STRICT")
      for id in ids { try connection.execute("INSERT INTO T VALUES (\(id))") }
    }
    try database.read { connection in
      for _ in 0..<300 {
        let prefix = String(ids.randomElement(using: &random)!.prefix(Int.random(in: 1...35, using: &random)))
        let rows = IdentifierSearch.rows(beginningWith: prefix, in: "T", column: "uuid", condition: nil)
        let found = try connection.fetch("SELECT uuid \(rows)", as: String.self)
        #expect(Set(found) == Set(ids.filter { $0.hasPrefix(prefix) }), "\(prefix)")
      }
    }
  }
}

extension UUID {
  fileprivate static func random(using random: inout some RandomNumberGenerator) -> UUID {
    let (a, b) = (UInt64.random(in: 0...UInt64.max, using: &random), UInt64.random(in: 0...UInt64.max, using: &random))
    let bytes = withUnsafeBytes(of: (a, b)) { Array($0) }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}
