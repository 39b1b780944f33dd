import CipherSQL
import Foundation
import RestorationModel
import TestSupport
import Testing
import VaultKeys

@testable import VaultStore

/// The first operations of a long outbox.
@Suite struct FirstOperationsTests {
  @Test("The first operations are those of the whole list, whatever their states are, and each part has an index")
  func firstOperations() throws {
    var random = Seeded()
    let folder = try TemporaryFolder()
    let vault = try Vault.create(
      at: folder.file("v.vault"), schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret())
    let company = try vault.entities.entity("Project")
    for number in 0..<60 { _ = try vault.put(company, [("title", .text("p\(number)"))]) }
    let changes = (0..<40).map { _ in
      (
        row: random.number(1..<61), priority: random.number(0..<4),
        change: random.pick([
          "status = 'failed'", "status = 'conflict'", "scheduledAt = '2030-01-01T00:00:00.000Z'", "parkedBehind = 1",
          "parkedBehind = 2, scheduledAt = '2030-01-01T00:00:00.000Z'", "priority = priority",
        ])
      )
    }
    try vault.database.write { connection in
      for change in changes {
        try connection.execute(
          SQL(
            raw:
              "UPDATE OfflineSyncQueue SET priority = \(change.priority), \(change.change) WHERE queueNumber = \(change.row)"
          ))
      }
    }
    var all: [OutboxEntry] = []
    try vault.forEachOperation { all.append($0) }
    #expect(all.count == 60)
    for limit in [1, 7, 59, 60, 100] { #expect(try vault.firstOperations(limit: limit) == Array(all.prefix(limit))) }
    let failed = try vault.failedOperations(limit: 100)
    #expect(Set(failed) == Set(all.filter { $0.status == "failed" }))
    let plans = try vault.database.read { connection in
      try Vault.unfinishedParts.flatMap { part in
        try connection.fetchRows(
          SQL(
            raw:
              "EXPLAIN QUERY PLAN SELECT * FROM OfflineSyncQueue WHERE \(part) ORDER BY priority, queueNumber LIMIT 5"),
          as: Int.self, Int.self, Int.self, String.self
        ).map(\.3)
      }
    }
    #expect(!plans.contains { $0.hasPrefix("SCAN OfflineSyncQueue") && !$0.contains("INDEX") }, "\(plans)")
    #expect(plans.contains { $0.contains("OfflineSyncQueue_ready") })
  }
}
