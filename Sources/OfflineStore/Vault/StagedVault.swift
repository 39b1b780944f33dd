#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A vault that is being made beside the place where it will stand. It appears there whole, by one rename, or not at
/// all; what a killed process left of a draft is removed by the next one for the same place.
final class StagedVault {
  /// Where its parts stand while it is made.
  let layout: VaultLayout
  private let target: VaultLayout
  private var lock: VaultLock?

  /// Makes the folders of an empty vault.
  /// - Throws: ``VaultError`` with `alreadyExists` when anything stands at the target, with `busy` when another process
  ///   is making a vault there, with `cannotWrite` or `noSpace`.
  init(for target: VaultLayout) throws {
    self.target = target
    layout = VaultLayout(folder: target.folder + ".making")
    guard !Files.exists(target.folder) else {
      throw VaultError(
        .alreadyExists, "\(target.folder) exists already", hint: "choose another name; nothing is overwritten")
    }
    // One at a time looks for a draft, removes it and makes its own.
    let makers = try KeyringLock(folder: VaultLayout.parent(of: target.folder))
    defer { withExtendedLifetime(makers) {} }
    if Files.exists(layout.folder) {
      // Held until the old draft is gone, so that its maker, if there is one, keeps it.
      let old = try Files.exists(layout.lock) ? VaultLock(path: layout.lock, mode: .exclusive) : nil
      try Files.removeTree(layout.folder)
      withExtendedLifetime(old) {}
    }
    try Files.makeFolder(layout.folder)
    lock = try VaultLock(path: layout.lock, mode: .exclusive)
    for folder in [layout.databases, layout.attachments] { try Files.makeFolder(folder) }
  }

  /// Puts the vault in its place, durably.
  func publish() throws {
    for folder in [layout.attachments, layout.databases, layout.folder] { try Files.syncFolder(folder) }
    guard !Files.exists(target.folder) else {
      throw VaultError(.alreadyExists, "\(target.folder) has come into being meanwhile", hint: "choose another name")
    }
    guard rename(layout.folder, target.folder) == 0 else { throw FileProblem.current("make", target.folder) }
    try Files.syncFolder(VaultLayout.parent(of: target.folder))
    lock = nil
  }

  /// Removes what was made, after a failure, which is what counts: when the removal fails too, the next draft for the
  /// same place removes the rest.
  func abandon() {
    try? Files.removeTree(layout.folder)
  }
}
