import Platform
import VaultKeys

/// Database generations and keyrings that an interrupted key rotation left behind.
enum OrphanedGenerations {
  /// Removes generations that are not current, and an unfinished keyring. This undoes a rotation that was killed
  /// before its commit, and completes one that was killed after it.
  ///
  /// The caller must hold the vault's lock, at least shared, so that no rotation is running. Errors are ignored
  /// because leftover files do no harm. The next opening of the vault tries again, and `doctor` lists the files
  /// that remain.
  static func sweep(_ layout: VaultLayout, current generation: Int) {
    guard !orphans(layout, current: generation).isEmpty, let lock = KeyringLock(ifFree: layout.folder) else { return }
    removeOrphans(layout, current: generation)
    withExtendedLifetime(lock) {}
  }

  /// Removes the orphans. The caller holds the lock of the keyring.
  static func removeOrphans(_ layout: VaultLayout, current generation: Int) {
    let found = orphans(layout, current: generation)
    if !found.isEmpty { try? remove(found, layout) }
  }

  /// Returns the paths of the generations that are not current and of an unfinished keyring.
  static func orphans(_ layout: VaultLayout, current generation: Int) -> [String] {
    var found: [String] = []
    let generations = (try? Files.names(in: layout.databases)) ?? []
    for name in generations {
      guard let number = VaultLayout.generationNumber(of: name), number != generation else { continue }
      found.append(layout.databases + "/" + name)
    }
    if Files.exists(layout.unfinishedKeyring) { found.append(layout.unfinishedKeyring) }
    return found
  }

  private static func remove(_ paths: [String], _ layout: VaultLayout) throws {
    // Flush the current keyring first: after a power failure an older keyring could otherwise reappear and name a
    // removed generation.
    try Files.syncFolder(layout.folder)
    for path in paths { try Files.removeTree(path) }
    try Files.syncFolder(layout.databases)
    try Files.syncFolder(layout.folder)
  }
}
