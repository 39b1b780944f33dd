import CipherSQL
import VaultKeys

extension Vault {
  /// Says what ``rotateKey(_:progress:)`` would do. Nothing is changed.
  /// - Throws: `KeyError` for a secret that opens no slot; ``VaultError`` when the disk cannot be looked at.
  public func planRotation(_ kind: RotationKind) throws -> RotationPlan {
    try plan(kind, from: try newestKeyring()).plan
  }

  /// Writes the whole database anew under a new key, and goes on with that.
  ///
  /// Reads of this process go on all the time, writes wait. The new generation is written beside the old one, opened
  /// anew, checked and compared; then the keyring that names it is put in place, by one rename, which is the commit.
  /// **After a crash** the vault has the old key or the new one, whole; what else is there goes when it is next opened.
  /// Copies of the vault and of its keyring that were made before keep their old key.
  ///
  /// - Throws: ``VaultError`` with `busy` when another process has the vault open, with `noSpace`, with `damaged` when
  ///   the copy is not what it should be; `KeyError`; `SQLError`. The old key then still holds, but for an error with
  ///   `cannotWrite` that says otherwise.
  @available(*, noasync, message: "use a thread of your own in asynchronous code")
  public func rotateKey(
    _ kind: RotationKind, progress: (RotationProgress) throws -> Void = { _ in }
  ) throws -> RotationPlan {
    // One at a time in this process: the lock of the vault knows only processes.
    try rotationGate.withLock { _ in
      // Another process may have rotated in the moment in which the lock changed hands: its generation is taken up, and
      // then it is tried again.
      for _ in 0..<8 {
        if let plan = try tryRotation(kind, progress) { return plan }
      }
      throw VaultError(.busy, "other processes change the key of this vault again and again", hint: "try again later")
    }
  }

  /// One try; nil when it took up a generation that another process had made.
  private func tryRotation(
    _ kind: RotationKind, _ progress: (RotationProgress) throws -> Void
  ) throws -> RotationPlan? {
    var outcome: RotationOutcome?
    let result = Result {
      try database.replaceFile { snapshot in
        let made = try rotate(kind, snapshot, progress)
        outcome = made
        return (layout.database(generation: made.generation), GuardedKey(bytes: made.keys.databaseKey))
      }
    }
    if case .failure = result, outcome != nil {
      // The keyring names another generation than the one that is open, and what would be written to that would be lost.
      database.close()
    } else if let outcome, outcome.plan != nil, outcome.problem == nil {
      OrphanedGenerations.sweep(layout, current: outcome.generation)
    }
    try lock.makeShared()
    try result.get()
    if let problem = outcome?.problem { throw problem }
    return outcome?.plan
  }

  /// Takes up a generation that another process has made, or makes one. Runs while nobody writes.
  private func rotate(
    _ kind: RotationKind, _ snapshot: Connection, _ progress: (RotationProgress) throws -> Void
  ) throws -> RotationOutcome {
    do {
      try lock.makeExclusive()
    } catch {
      if let other = try otherGeneration() { return RotationOutcome(keys: other, plan: nil, problem: error) }
      throw error
    }
    if let other = try otherGeneration() { return RotationOutcome(keys: other, plan: nil, problem: nil) }
    let held = try KeyringLock(folder: layout.folder)
    defer { withExtendedLifetime(held) {} }
    let current = try newestKeyring()
    // What an earlier try left would count as space that is missing.
    OrphanedGenerations.removeOrphans(layout, current: current.keyring.generation.number)
    let (plan, next) = try plan(kind, from: current)
    guard plan.freeBytes >= plan.neededBytes else {
      throw VaultError(
        .noSpace,
        "the new generation needs \(plan.neededBytes) bytes beside the old one, and \(plan.freeBytes) are free",
        hint: "free some space; nothing was changed")
    }
    let folder = layout.generation(plan.nextGeneration)
    do {
      try write(next, to: folder, snapshot, progress)
    } catch {
      // The failure is what counts; what stays of the folder goes when the vault is next opened.
      try? Files.removeTree(folder)
      throw error
    }
    return try commit(next, plan)
  }

  /// The keys of the generation that is current now, when that is not the one that is open here. What would be written
  /// to the old one would be lost, so that the database is closed when the new one cannot be opened.
  private func otherGeneration() throws -> UnlockedKeyring? {
    do {
      let current = try newestKeyring()
      guard current.keyring.generation != keyring.keyring.generation else { return nil }
      keys.withLock { $0 = current }
      return current
    } catch {
      database.close()
      throw error
    }
  }

  /// Writes the new generation and proves it.
  private func write(
    _ next: UnlockedKeyring, to folder: String, _ snapshot: Connection,
    _ progress: (RotationProgress) throws -> Void
  ) throws {
    let file = layout.database(generation: next.keyring.generation.number)
    let key = GuardedKey(bytes: next.databaseKey)
    // A rotation that was killed may have left this very generation.
    try Files.removeTree(folder)
    try Files.makeFolder(folder)
    try Files.makeFile(file)
    try snapshot.copyPages(to: file, key: key) { done, total in
      try progress(.copying(done: done * 4096, total: total * 4096))
    }
    try Files.syncFile(file)
    let problem = try snapshot.problem(withCopyAt: file, key: key) { step in
      if case .rows(let rows) = step { try progress(.comparing(rows: rows)) } else { try progress(.checking) }
    }
    if let problem {
      throw VaultError(
        .damaged, "the copy under the new key is not what it should be: \(problem)",
        hint: "the old key still holds; check the disk, and run fieldvault doctor")
    }
    try Files.syncFolder(folder)
    try Files.syncFolder(layout.databases)
  }

  private func commit(_ next: UnlockedKeyring, _ plan: RotationPlan) throws -> RotationOutcome {
    do {
      try KeyringFile.write(next.keyring, at: layout.keyring)
    } catch {
      // The rename may have happened all the same, with only the folder not on the disk yet.
      guard try keyringOnDisk() == next.keyring else {
        // The failure is what counts; what stays goes when the vault is next opened.
        try? Files.removeTree(layout.generation(plan.nextGeneration))
        throw error
      }
      keys.withLock { $0 = next }
      return RotationOutcome(keys: next, plan: plan, problem: error)
    }
    keys.withLock { $0 = next }
    return RotationOutcome(keys: next, plan: plan, problem: nil)
  }

  /// The keyring after a write that failed. Where it cannot be read nobody knows which generation holds, so that the
  /// database is closed.
  private func keyringOnDisk() throws -> Keyring {
    do {
      return try KeyringFile.read(at: layout.keyring)
    } catch {
      database.close()
      throw error
    }
  }

  private func plan(_ kind: RotationKind, from current: UnlockedKeyring) throws -> (
    plan: RotationPlan, next: UnlockedKeyring
  ) {
    var next: UnlockedKeyring
    var dropped: [KeySlot] = []
    switch kind {
    case .databaseKey: next = try current.withNewGeneration()
    case .rootKey(let secrets): (next, dropped) = try current.withNewRootKey(keeping: secrets)
    }
    let number = current.keyring.generation.number
    let file = layout.database(generation: number)
    let bytes = (Files.size(of: file) ?? 0) + (Files.size(of: file + "-wal") ?? 0)
    let plan = RotationPlan(
      generation: number, nextGeneration: next.keyring.generation.number, databaseBytes: bytes,
      neededBytes: bytes + bytes / 50 + (1 << 20), freeBytes: try Files.freeBytes(at: layout.folder),
      keptSlots: next.keyring.slots, droppedSlots: dropped, otherHolders: lock.otherHolders)
    return (plan, next)
  }
}

/// What came of one try.
private struct RotationOutcome {
  /// The keys of the generation that is to be used now.
  let keys: UnlockedKeyring
  /// Nil when the generation was made by another process.
  let plan: RotationPlan?
  /// Set when there is a generation to be used, and something went wrong.
  let problem: (any Error)?

  var generation: Int { keys.keyring.generation.number }
}
