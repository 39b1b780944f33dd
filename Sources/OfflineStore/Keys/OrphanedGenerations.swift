/// What an interrupted change of the key left behind.
enum OrphanedGenerations {
  /// Removes generations that are not current, and a keyring that was not finished: a rotation that was killed before
  /// its commit is undone by that, one that was killed after it is finished.
  ///
  /// The vault's lock has to be held, shared at least: then no rotation is under way. Where the disk cannot be written
  /// the vault is as good as with it, and the next time that it is opened tries again; `doctor` names what stays.
  static func sweep(_ layout: VaultLayout, current generation: Int) {
    guard !orphans(layout, current: generation).isEmpty, let lock = KeyringLock(ifFree: layout.folder) else { return }
    removeOrphans(layout, current: generation)
    withExtendedLifetime(lock) {}
  }

  /// The same for one who holds the lock of the keyring.
  static func removeOrphans(_ layout: VaultLayout, current generation: Int) {
    let found = orphans(layout, current: generation)
    if !found.isEmpty { try? remove(found, layout) }
  }

  /// The paths that belong to no generation that is current.
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
    // The keyring that makes them orphans has to be on the disk first: a power cut might bring back one that does not.
    try Files.syncFolder(layout.folder)
    for path in paths { try Files.removeTree(path) }
    try Files.syncFolder(layout.databases)
    try Files.syncFolder(layout.folder)
  }
}
