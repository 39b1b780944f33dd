/// Why two versions of a record could not simply become one. The raw values are those of the conflict table.
public enum ConflictKind: String, CaseIterable, Sendable {
  /// Both sides changed one field differently.
  case concurrentEdit = "concurrent_edit"
  /// The server's side deleted what was edited here, or the parent of it.
  case deletedRemotely = "deleted_remotely"
  /// What was deleted here was edited at the server.
  case deletedLocally = "deleted_locally"
  /// Another record has the value of a column that may have each value once. A merge does not see this; the server does.
  case notUnique = "not_unique"
  /// The record refers to one that the server does not have. A merge does not see this; the server does.
  case parentMissing = "parent_missing"
}

/// One of the two sides of a merge.
public enum MergeSide: String, CaseIterable, Sendable {
  /// The side that pushes, or applies what it pulled: a device.
  case local
  /// What the server has.
  case remote
}
