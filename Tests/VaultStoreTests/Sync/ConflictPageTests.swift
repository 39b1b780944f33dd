import CipherSQL
import RestorationModel
import TestSupport
import Testing

@testable import VaultStore

@Suite struct ConflictPageTests {
  @Test("A page of open conflicts reads no resolved ones, and a page of all reads only its own rows")
  func plans() throws {
    let database = try Database.inMemory()
    try Vault.migrator(for: [RestorationSchema.schema]).apply(to: database, isDraft: true)
    let place = (time: "2026-01-01T00:00:00.000Z", id: "01a1")
    try database.read { connection in
      for after in [nil, place] {
        for limit in [nil, 10] {
          func plan(resolved: Bool) throws -> [String] {
            let clauses = Vault.conflictPage(resolved: resolved, after: after, limit: limit)
            let query: SQL = "EXPLAIN QUERY PLAN SELECT * FROM OfflineConflictResolution \(clauses)"
            return try connection.fetchRows(query, as: Int.self, Int.self, Int.self, String.self).map(\.3)
          }
          let open = try plan(resolved: false)
          #expect(open.first?.contains("OfflineConflictResolution_open") == true, "\(open)")
          let all = try plan(resolved: true)
          #expect(all.first?.contains("OfflineConflictResolution_detected") == true, "\(all)")
          #expect(!all.contains { $0.contains("TEMP B-TREE FOR ORDER BY") }, "\(all)")
          if after != nil { #expect(all.first?.hasPrefix("SEARCH") == true, "\(all)") }
        }
      }
    }
  }
}
