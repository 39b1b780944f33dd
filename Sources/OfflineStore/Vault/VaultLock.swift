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

  /// Takes the lock at once.
  /// - Throws: ``VaultError`` with `busy` when another process holds the vault in a way that excludes this one.
  public init(path: String, mode: Mode) throws {
    descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileProblem.current("open", path) }
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    guard flock(descriptor, operation) == 0 else {
      let reason = errno
      close(descriptor)
      guard reason == EWOULDBLOCK else { throw FileProblem.error(reason, "lock", path) }
      throw VaultError(
        .busy,
        mode == .shared
          ? "the key of this vault is being changed by another process" : "another process has this vault open",
        hint: "wait until it has finished")
    }
  }

  deinit { close(descriptor) }
}
