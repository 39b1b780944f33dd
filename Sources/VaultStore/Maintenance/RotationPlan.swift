import VaultKeys

/// The keys that a rotation replaces.
public enum RotationKind: Sendable {
  /// Replaces the database key. Every key slot keeps working.
  case databaseKey
  /// Replaces the root key and the database key. Keeps only the key slots whose secrets are given.
  case rootKey(keeping: [UnlockSecret])
}

/// The plan of a rotation, also returned as its result.
public struct RotationPlan: Sendable {
  /// The generation that is current before the rotation.
  public let generation: Int
  /// The generation that the rotation creates.
  public let nextGeneration: Int
  /// The size of the database in bytes, including its write-ahead log.
  public let databaseBytes: Int
  /// The additional disk space that the rotation needs, in bytes. It is released when the rotation ends.
  public let neededBytes: Int
  /// The free disk space in bytes.
  public let freeBytes: Int
  /// The key slots that open the vault after the rotation.
  public let keptSlots: [KeySlot]
  /// The key slots that the rotation removes, because their secrets are not available to wrap a new root key.
  public let droppedSlots: [KeySlot]
  /// The other processes that have the vault open. Their presence makes a rotation fail with `busy`.
  public let otherHolders: [String]
}

/// The progress of a rotation.
public enum RotationProgress: Sendable {
  /// The database is being copied under its new key; the bytes done and in total.
  case copying(done: Int, total: Int)
  /// The copy is being checked.
  case checking
  /// The copy is being compared with the original; the rows done.
  case comparing(rows: Int)
}
