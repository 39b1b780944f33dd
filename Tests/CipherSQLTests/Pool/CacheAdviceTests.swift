import Foundation
import TestSupport
import Testing

@testable import CipherSQL

/// Advice comes when the working set does not fit, and not otherwise.
@Suite struct CacheAdviceTests {
  private func advice(cacheBytes: Int, rounds: Int) throws -> String? {
    let folder = try TemporaryFolder()
    var configuration = Configuration()
    configuration.pageCacheBytes = cacheBytes
    configuration.readerCount = 1
    let database = try Database(path: folder.file("cache.db"), key: PlainKey.random(), configuration: configuration)
    defer { database.close() }
    try database.write { db in
      try db.execute("CREATE TABLE t (x BLOB) STRICT")
      try db.execute(
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT randomblob(3000) FROM n"
      )
    }
    return try database.read { db in
      for _ in 0..<rounds { _ = try db.fetchOne("SELECT sum(length(x)) FROM t", as: Int.self) }
      return try db.cacheUse().advice
    }
  }

  @Test("A page cache smaller than the working set gives advice") func aCacheThatIsTooSmallIsNamed() throws {
    let text = try #require(try advice(cacheBytes: 1 << 20, rounds: 3))
    #expect(text.hasPrefix("the page cache of 1 MiB is smaller than the working set: "))
    #expect(text.hasSuffix("4 MiB would be better"))
  }

  @Test("A page cache that holds the working set gives no advice") func aCacheThatHoldsTheWorkingSetIsNot() throws {
    #expect(try advice(cacheBytes: 32 << 20, rounds: 30) == nil)
  }
}
