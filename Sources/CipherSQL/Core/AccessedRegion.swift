/// The tables and columns that a statement reads and writes, as SQLite's authorizer reports them at preparation.
/// Tables and columns of triggers and views are included.
struct AccessedRegion: Equatable {
  /// Columns read, by table. A table with an empty set is read without any column, as `count(*)` does.
  var reads: [String: Set<String>] = [:]
  /// Columns updated, by table.
  var updates: [String: Set<String>] = [:]
  /// Tables that rows are inserted into or deleted from.
  var rowChanges: Set<String> = []

  var isEmpty: Bool { reads.isEmpty && updates.isEmpty && rowChanges.isEmpty }

  mutating func formUnion(_ other: AccessedRegion) {
    reads.merge(other.reads) { $0.union($1) }
    updates.merge(other.updates) { $0.union($1) }
    rowChanges.formUnion(other.rowChanges)
  }
}
