import Platform

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings with which a database is opened.
public struct Configuration: Sendable {
  /// The page cache of each reading connection, in bytes. A page outside the cache is read and decrypted at each use,
  /// so speed depends mostly on a cache that holds the working set; see ``Connection/cacheUse()``. The default is a
  /// 64th of the machine's memory, at least 16 MiB and at most 64 MiB.
  public var pageCacheBytes: Int = Configuration.defaultPageCacheBytes {
    didSet { writerPageCacheBytes = min(writerPageCacheBytes, pageCacheBytes) }
  }

  /// The page cache of the writing connection, in bytes. The default is 16 MiB on any machine. Setting
  /// ``pageCacheBytes`` to a lower value lowers this value too. To raise it, set it afterwards. A larger cache slows
  /// small transactions down: when a transaction changes the order of pages in a table or index, SQLite scans all
  /// pages of this cache at its end (`pcache1TruncateUnsafe`).
  public var writerPageCacheBytes: Int = 16 << 20

  /// The number of concurrent readers, 1 to 64. Each connection opens when it is first needed.
  ///
  /// With 0, reads and writes share one connection and run one after the other. The database then parses its schema
  /// once and has one page cache, of ``pageCacheBytes``. This suits a process that has many databases open.
  public var readerCount: Int = 4

  /// The time that a write waits for a write of another process before it fails with `busy`.
  public var busyTimeout: Duration = .seconds(10)

  /// The size in bytes from which a commit moves the write-ahead log into the database and restarts it. It waits a
  /// moment for readers that still need the log. Smaller checkpoints, which wait for no reader, run at every 4 MiB.
  public var walLimitBytes: Int = 32 << 20

  /// The interval at which an observed database checks for commits of other processes; `nil` for never. Each check
  /// costs a few microseconds. Without observations there is no check.
  public var otherProcessInterval: Duration? = .seconds(1)

  /// Opens without the ability to write; the file must exist.
  public var isReadOnly = false

  /// Whether foreign keys are enforced. `false` only for a database that has single rows without those that they
  /// reference.
  package var enforcesForeignKeys = true

  /// The clock and the random source that the database and its SQL see.
  package var environment = Environment.system

  /// The cache of the values that are derived from the schema of the database.
  package var schemaCache = SchemaCache.shared

  /// Reads the readable parts of a damaged file and leaves the file unchanged.
  var isForDamagedFile = false

  /// The way to open a file of another program without a key; only ``PlainFile`` sets it.
  var plainFileAccess: PlainFile.Access?

  /// The defaults of all properties: reads and writes, four readers, ten seconds of waiting.
  public init() {}

  /// Creates a configuration with a clock and a random source, and the defaults of all other properties.
  package init(environment: Environment) { self.environment = environment }

  /// A 64th of the machine's memory between 16 and 64 MiB: 64 MiB on a server or a laptop, 32 MiB on a phone of
  /// 2 GiB.
  public static let defaultPageCacheBytes: Int = {
    let memory = Int(clamping: ProcessInfo.processInfo.physicalMemory)
    return min(max(memory / 64, 16 << 20), 64 << 20)
  }()

  /// Returns the largest number of reading connections to a file; `nil` if reads and writes share one connection. A
  /// database in memory (`path` is `nil`) exists in one connection only.
  func readerLimit(of path: String?) -> Int? {
    path == nil || readerCount == 0 ? nil : min(max(readerCount, 1), 64)
  }
}
