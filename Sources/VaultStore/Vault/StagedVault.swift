import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A staged vault: a vault that is written under another name next to its path. It appears there completely, by one
/// rename, or not at all. The remains of a killed process are removed by the next staged vault for the same path.
final class StagedVault {
  /// The layout of the staged vault.
  let layout: VaultLayout
  private let target: VaultLayout
  private var lock: VaultLock?

  /// Creates the folders of an empty vault.
  /// - Throws: ``VaultError`` with `alreadyExists` if the target exists, with `busy` if another process creates a vault
  ///   at the path, with `cannotWrite` or `noSpace`.
  init(for target: VaultLayout) throws {
    self.target = target
    layout = VaultLayout(folder: target.folder + ".making")
    guard !Files.exists(target.folder) else {
      throw VaultError(
        .alreadyExists, "\(target.folder) already exists", hint: "choose another name; nothing is overwritten")
    }
    // Only one process at a time removes an old staged vault and creates its own.
    let makers = try KeyringLock(folder: Files.parent(of: target.folder))
    defer { withExtendedLifetime(makers) {} }
    if Files.exists(layout.folder) {
      // Held until the old staged vault is removed, so that a running process keeps its own.
      let old = try Files.exists(layout.lock) ? VaultLock(path: layout.lock, mode: .exclusive) : nil
      try Files.removeTree(layout.folder)
      withExtendedLifetime(old) {}
    }
    try Files.makeFolder(layout.folder)
    lock = try VaultLock(path: layout.lock, mode: .exclusive)
    for folder in [layout.databases, layout.attachments] { try Files.makeFolder(folder) }
  }

  /// Moves the vault to its path, durably.
  func publish() throws {
    for folder in [layout.attachments, layout.databases, layout.folder] { try Files.syncFolder(folder) }
    guard !Files.exists(target.folder) else {
      throw VaultError(.alreadyExists, "\(target.folder) was created by another process", hint: "choose another name")
    }
    guard rename(layout.folder, target.folder) == 0 else { throw FileError.last("create", target.folder) }
    try Files.syncFolder(Files.parent(of: target.folder))
    lock = nil
  }

  /// Removes the staged vault after a failure. The failure counts: if the removal fails too, the next staged vault
  /// for the same path removes the rest.
  func abandon() {
    try? Files.removeTree(layout.folder)
  }
}
