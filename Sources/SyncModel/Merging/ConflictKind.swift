/// The reason why two versions of a record could not be merged. The raw values are those of the conflict table.
public enum ConflictKind: String, CaseIterable, Sendable {
  /// Both sides changed one field differently.
  case concurrentEdit = "concurrent_edit"
  /// The server deleted a record that was edited on the device, or its parent.
  case deletedRemotely = "deleted_remotely"
  /// The device deleted a record that was edited at the server.
  case deletedLocally = "deleted_locally"
  /// Another record has the value of a unique column. The server detects this, not the merge.
  case notUnique = "not_unique"
  /// The record references a record that the server lacks. The server detects this, not the merge.
  case parentMissing = "parent_missing"
}

/// One of the two sides of a merge.
public enum MergeSide: String, CaseIterable, Sendable {
  /// The side that pushes, or applies a pulled version: a device.
  case local
  /// The server's version.
  case remote
}
