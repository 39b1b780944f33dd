import VaultKeys

/// What a rotation replaces.
public enum RotationKind: Sendable {
  /// The database key. Every slot goes on working.
  case databaseKey
  /// The root key as well, and the database key with it. Only the slots whose secrets are given are kept.
  case rootKey(keeping: [UnlockSecret])
}

/// What a rotation will do, or has done.
public struct RotationPlan: Sendable {
  /// The generation of the database that is current before it.
  public let generation: Int
  /// The generation that it makes.
  public let nextGeneration: Int
  /// The size of the database, in bytes.
  public let databaseBytes: Int
  /// The space that is needed beside the database, in bytes. It is free again when the rotation is done.
  public let neededBytes: Int
  /// The space that is free, in bytes.
  public let freeBytes: Int
  /// The slots that open the vault afterwards.
  public let keptSlots: [KeySlot]
  /// The slots that go, because their secrets are not at hand to wrap a new root key.
  public let droppedSlots: [KeySlot]
  /// The other processes that have the vault open, which a rotation would be refused for.
  public let otherHolders: [String]
}

/// How far a rotation has come.
public enum RotationProgress: Sendable {
  /// Copies the database under its new key; bytes done and in all.
  case copying(done: Int, total: Int)
  /// Checks the copy.
  case checking
  /// Compares the copy with the original; rows done.
  case comparing(rows: Int)
}
