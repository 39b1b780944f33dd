#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How a database is opened.
public struct Configuration: Sendable {
  /// The page cache of each connection that reads, in bytes. Each page that is not in it is read and decrypted again, so a
  /// cache that holds the working set decides more about speed than anything else; ``Connection/cacheUse()``
  /// tells whether it does. The default is a 64th of the machine's memory, at least 16 MiB and at most 64 MiB.
  public var pageCacheBytes: Int = Configuration.defaultPageCacheBytes {
    didSet { writerPageCacheBytes = min(writerPageCacheBytes, pageCacheBytes) }
  }

  /// The page cache of the connection that writes, in bytes. The default is 16 MiB on any machine. Setting ``pageCacheBytes`` to
  /// less lowers this value too; a larger one is set afterwards. A larger cache makes small transactions slower: when one of them changes the order
  /// of pages in a table or index, SQLite goes through all pages of this cache at its end (`pcache1TruncateUnsafe`).
  public var writerPageCacheBytes: Int = 16 << 20

  /// How many connections read at the same time, 1 to 64. Each opens when it is first needed.
  public var readerCount: Int = 4

  /// How long a write waits for another process that writes before it fails with `busy`.
  public var busyTimeout: Duration = .seconds(10)

  /// The size in bytes from which a commit tries to bring the write-ahead log back into the database and to
  /// start it anew, waiting a moment for readers that still need it. Smaller checkpoints, which wait for
  /// nobody, run at every 4 MiB.
  public var walLimitBytes: Int = 32 << 20

  /// How often an observed database looks for commits of other processes; `nil` for never. Costs a few microseconds
  /// each time, and nothing while there is no observation.
  public var otherProcessInterval: Duration? = .seconds(1)

  /// Opens without the ability to write; the file must exist.
  public var isReadOnly = false

  /// Reads what can be read of a damaged file and leaves the file as it is.
  var isForDamagedFile = false

  /// The defaults of all properties: reads and writes, four readers, ten seconds of waiting.
  public init() {}

  /// A 64th of the machine's memory between 16 and 64 MiB: 64 MiB on a server or a laptop, 32 MiB on a phone of
  /// 2 GiB.
  public static let defaultPageCacheBytes: Int = {
    let memory = Int(clamping: ProcessInfo.processInfo.physicalMemory)
    return min(max(memory / 64, 16 << 20), 64 << 20)
  }()
}
