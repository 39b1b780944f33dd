import CSQLCipher

/// The use of a connection's page cache since the connection was opened, or since the last query of it.
public struct CacheUse: Sendable, Hashable {
  /// The number of pages that were found in the cache.
  public let hits: Int
  /// The number of pages that were read and decrypted.
  public let misses: Int
  /// The number of pages that were written before the end of their transaction, because the cache was full.
  public let spills: Int
  /// The current use of the cache, in bytes.
  public let usedBytes: Int
  /// The limit of the cache, in bytes; see ``Configuration/pageCacheBytes`` and
  /// ``Configuration/writerPageCacheBytes``.
  public let limitBytes: Int
  /// The size of the database, in bytes.
  public let databaseBytes: Int

  /// The advice as text; `nil` if the working set fits, or if few pages were read so far.
  ///
  /// The rule: the cache is full, and more than one page in ten was read again. Pages that are read once cause no
  /// advice, even for a large database.
  public var advice: String? {
    let isFull = usedBytes >= limitBytes / 10 * 9
    guard isFull, misses > limitBytes / 4096, misses * 10 > hits + misses else { return nil }
    let wanted = min(databaseBytes, limitBytes * 4)
    return """
      the page cache of \(limitBytes >> 20) MiB is smaller than the working set: \(misses * 100 / (hits + misses)) % \
      of the pages were read and decrypted again; \(max(wanted >> 20, (limitBytes >> 20) + 1)) MiB would be better
      """
  }
}

extension Connection {
  /// Returns the use of this connection's page cache.
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
