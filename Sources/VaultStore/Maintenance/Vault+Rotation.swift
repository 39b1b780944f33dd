import CipherSQL
import Platform
import VaultKeys

extension Vault {
  /// Returns the plan of ``rotateKey(_:progress:)`` without changing anything.
  /// - Throws: `KeyError` for a secret that opens no key slot; ``VaultError`` when the disk cannot be examined.
  public func planRotation(_ kind: RotationKind) throws -> RotationPlan {
    try plan(kind, from: try newestKeyring()).plan
  }

  /// Copies the database under a new key and switches the open vault to the copy.
  ///
  /// Reads in this process continue during the rotation; writes wait. The new generation is written beside the old
  /// one, reopened, checked and compared. One rename then replaces the keyring, which is the commit. **After a
  /// crash** the vault has the complete old or the complete new generation. The next opening removes the other one.
  /// Earlier copies of the vault and its keyring keep their old key.
  ///
  /// - Throws: ``VaultError`` with `busy` when another process has the vault open, with `noSpace`, or with
  ///   `damaged` when the copy differs from the original; `KeyError`; `SQLError`. The old key stays valid after an
  ///   error, except after `cannotWrite` with a message that says otherwise.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func rotateKey(
    _ kind: RotationKind, progress: (RotationProgress) throws -> Void = { _ in }
  ) throws -> RotationPlan {
    // The vault's lock excludes other processes only, so this gate serialises rotations within the process.
    try rotationGate.withLock { _ in
      // Another process may have rotated the key while the lock changed hands. Each attempt then adopts that
      // generation and tries again.
      for _ in 0..<8 {
        if let plan = try tryRotation(kind, progress) { return plan }
      }
      throw VaultError(.busy, "other processes keep changing the key of this vault", hint: "try again later")
    }
  }

  /// Makes one attempt. Returns `nil` when it adopted a generation that another process had created.
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
      // The keyring names a generation other than the open one. Writes to the open database would be lost.
      database.close()
    } else if let outcome, outcome.plan != nil, outcome.problem == nil {
      OrphanedGenerations.sweep(layout, current: outcome.generation)
    }
    try lock.makeShared()
    try result.get()
    if let problem = outcome?.problem { throw problem }
    return outcome?.plan
  }

  /// Adopts a generation that another process created, or creates one. Runs while all writers are excluded.
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
    // Leftovers of an earlier attempt would reduce the free space.
    OrphanedGenerations.removeOrphans(layout, current: current.keyring.generation.number)
    let (plan, next) = try plan(kind, from: current)
    guard plan.freeBytes >= plan.neededBytes else {
      throw VaultError(
        .noSpace,
        "the new generation requires \(plan.neededBytes) bytes; \(plan.freeBytes) are free",
        hint: "free some space; nothing was changed")
    }
    let folder = layout.generation(plan.nextGeneration)
    do {
      try write(next, to: folder, snapshot, progress)
    } catch {
      // Rethrow the original failure. The next opening of the vault removes the rest of the folder.
      try? Files.removeTree(folder)
      throw error
    }
    return try commit(next, plan)
  }

  /// Returns the keys of the current generation if it is not the open one. Closes the database if those keys cannot
  /// be read, because writes to the old generation would be lost.
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

  /// Writes the new generation and verifies it.
  private func write(
    _ next: UnlockedKeyring, to folder: String, _ snapshot: Connection,
    _ progress: (RotationProgress) throws -> Void
  ) throws {
    let file = layout.database(generation: next.keyring.generation.number)
    let key = GuardedKey(bytes: next.databaseKey)
    // A killed rotation may have left a generation with this number.
    try Files.removeTree(folder)
    try Files.makeFolder(folder)
    let problem = try snapshot.copyVerified(to: file, key: key) { step in
      switch step {
      case .copying(let done, let total): try progress(.copying(done: done * 4096, total: total * 4096))
      case .verifying(.rows(let rows)): try progress(.comparing(rows: rows))
      case .verifying: try progress(.checking)
      }
    }
    if let problem {
      throw VaultError(
        .damaged, "the copy with the new key failed verification: \(problem)",
        remedy: .checkDiskAndVault)
    }
    try Files.syncFolder(folder)
    try Files.syncFolder(layout.databases)
  }

  private func commit(_ next: UnlockedKeyring, _ plan: RotationPlan) throws -> RotationOutcome {
    do {
      try KeyringFile.write(next.keyring, at: layout.keyring)
    } catch {
      // The rename may have succeeded although flushing the folder failed.
      guard try keyringOnDisk() == next.keyring else {
        // Rethrow the original failure. The next opening of the vault removes the rest.
        try? Files.removeTree(layout.generation(plan.nextGeneration))
        throw error
      }
      keys.withLock { $0 = next }
      return RotationOutcome(keys: next, plan: plan, problem: error)
    }
    keys.withLock { $0 = next }
    return RotationOutcome(keys: next, plan: plan, problem: nil)
  }

  /// Returns the keyring after a failed write. Closes the database if the keyring cannot be read, because the
  /// current generation is then unknown.
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
    case .databaseKey: next = try current.withNewGeneration(settings: keySettings)
    case .rootKey(let secrets): (next, dropped) = try current.withNewRootKey(keeping: secrets, settings: keySettings)
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

/// The result of one attempt.
private struct RotationOutcome {
  /// The keys of the generation to use from now on.
  let keys: UnlockedKeyring
  /// The plan; `nil` when another process created the generation.
  let plan: RotationPlan?
  /// The error of an attempt that nevertheless determined the current generation.
  let problem: (any Error)?

  var generation: Int { keys.keyring.generation.number }
}
