import CSQLCipher

/// How the page cache of a connection has done since it was opened or last asked.
public struct CacheUse: Sendable, Hashable {
  /// Pages that were found in the cache.
  public let hits: Int
  /// Pages that were read and decrypted.
  public let misses: Int
  /// Pages that had to be written out before their transaction was done, because the cache was full.
  public let spills: Int
  /// The current use of the cache, in bytes.
  public let usedBytes: Int
  /// The limit of the cache, in bytes; see ``Configuration/pageCacheBytes`` and
  /// ``Configuration/writerPageCacheBytes``.
  public let limitBytes: Int
  /// The size of the database, in bytes.
  public let databaseBytes: Int

  /// The advice as text; `nil` while the working set fits, or little was read so far.
  ///
  /// The rule: the cache is full, and more than one page in ten was read again. A page that is read once causes no
  /// advice, however large the database is.
  public var advice: String? {
    let isFull = usedBytes >= limitBytes / 10 * 9
    guard isFull, misses > limitBytes / 4096, misses * 10 > hits + misses else { return nil }
    let wanted = min(databaseBytes, limitBytes * 4)
    return """
      the page cache of \(limitBytes >> 20) MiB does not hold what is worked with: \(misses * 100 / (hits + misses)) % of \
      the pages were read and decrypted again; \(max(wanted >> 20, (limitBytes >> 20) + 1)) MiB would serve better
      """
  }
}

extension Connection {
  /// How the page cache of this connection has done so far.
  public final func cacheUse() throws -> CacheUse {
    func status(_ operation: Int32) -> Int {
      var current: Int32 = 0
      var highest: Int32 = 0
      let result = sqlite3_db_status(handle, operation, &current, &highest, 0)
      return result == SQLITE_OK ? Int(current) : 0
    }
    let pages = try fetchOne("SELECT page_count FROM pragma_page_count", as: Int.self) ?? 0
    return CacheUse(
      hits: status(SQLITE_DBSTATUS_CACHE_HIT), misses: status(SQLITE_DBSTATUS_CACHE_MISS),
      spills: status(SQLITE_DBSTATUS_CACHE_SPILL), usedBytes: status(SQLITE_DBSTATUS_CACHE_USED),
      limitBytes: pageCacheBytes, databaseBytes: pages * 4096)
  }
}
