import CPlatform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The file lock of a vault: shared while it is open, exclusive while something changes the files themselves.
/// The system frees it when the process ends, however it ends.
public final class VaultLock: Sendable {
  /// How a vault is held.
  public enum Mode: Sendable {
    case shared, exclusive
  }

  private let descriptor: Int32
  private let path: String

  /// Takes the lock at once.
  /// - Throws: ``VaultError`` with `busy` when another process holds the vault in a way that excludes this one.
  public init(path: String, mode: Mode) throws {
    self.path = path
    descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileProblem.current("open", path) }
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    guard flock(descriptor, operation) == 0 else {
      let reason = errno
      // The descriptor is closed by `deinit`, which runs for an initialiser that throws from here on.
      throw reason == EWOULDBLOCK
        ? Self.held(descriptor, by: mode == .shared ? .exclusive : .shared) : FileProblem.error(reason, "lock", path)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Turns a shared lock into an exclusive one.
  ///
  /// The system gives up the one before it takes the other, so another process may have had the vault in between; when
  /// this fails, the shared lock is held again and the keyring has to be read anew.
  /// - Throws: ``VaultError`` with `busy`, naming who holds the vault.
  func makeExclusive() throws {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let reason = errno
    let error = reason == EWOULDBLOCK ? Self.held(descriptor, by: .shared) : FileProblem.error(reason, "lock", path)
    try makeShared()
    throw error
  }

  /// Turns an exclusive lock into a shared one, or waits until it has a shared one.
  func makeShared() throws {
    while flock(descriptor, LOCK_SH) != 0 {
      guard errno == EINTR else { throw FileProblem.current("lock", path) }
    }
  }

  /// The other processes that hold the lock, where the system tells: `fieldvault (process 1234)`.
  var otherHolders: [String] { LockHolders.names(of: descriptor, withThisProcess: false) }

  private static func held(_ descriptor: Int32, by mode: Mode) -> VaultError {
    let names = LockHolders.names(of: descriptor)
    let who = names.isEmpty ? "another process" : names.joined(separator: ", ")
    switch mode {
    case .exclusive:
      return VaultError(
        .busy, "the files of this vault are being changed by \(who)", hint: "wait until it has finished")
    case .shared:
      return VaultError(.busy, "the vault is open in \(who)", hint: "close it there, then try again")
    }
  }
}
