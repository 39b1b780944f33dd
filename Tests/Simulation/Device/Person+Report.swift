import CipherSQL
import GeneratedSchemas
import TestSupport
import VaultStore

/// Queries of a user's program.
extension Person {
  /// Reads a report with more rows than SQLite sorts in a megabyte. What does not fit is where `temp_store` says.
  func readReport(_ random: inout Seeded) throws {
    let kind = random.pick(workload.kinds)
    try vault.database.read { connection in
      var count = 0
      try connection.forEach(
        """
        WITH RECURSIVE day (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM day WHERE number < 3000)
        SELECT record.text || printf('%400d', day.number) AS line FROM day,
          (SELECT \(identifier: kind.marker) AS text FROM \(identifier: kind.table) LIMIT 1) AS record ORDER BY line DESC
        """
      ) { _ in count += 1 }
    }
  }
}
