import Glibc

/// The folder for the temporary files of SQLite: sorters, temporary tables, journals of statements.
enum TemporaryFiles {
  /// The name of its disk, which a world creates and removes.
  static let disk = "temporary"

  /// Lets SQLite write its temporary files there. Call this before SQLite starts.
  static func use() { setenv("SQLITE_TMPDIR", "/simulated/\(disk)", 1) }
}
