import CPlatform
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The file lock of a vault: shared while it is open, exclusive while its files are changed. The system releases it
/// when the process ends in any way.
public final class VaultLock: Sendable {
  /// The mode of the lock.
  public enum Mode: Sendable {
    case shared, exclusive
  }

  private let descriptor: Int32
  private let path: String

  /// Acquires the lock. Waits up to half a second while no other program holds it. A child process that is being
  /// started has a copy of every descriptor of this process until it runs its program, including descriptors closed
  /// since.
  /// - Throws: ``VaultError`` with `busy` if another process holds a lock that excludes this one.
  public init(path: String, mode: Mode) throws {
    self.path = path
    descriptor = cplatform_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw FileError.last("open", path) }
    let operation = (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB
    var attempts = 0
    while flock(descriptor, operation) != 0 {
      let reason = errno
      // `deinit` closes the descriptor. It also runs for an initialiser that throws from here on.
      guard reason == EWOULDBLOCK else { throw FileError("lock", path, Descriptor.Failure(number: reason)) }
      attempts += 1
      guard attempts < 50, otherHolders.isEmpty else {
        throw Self.held(descriptor, by: mode == .shared ? .exclusive : .shared)
      }
      usleep(10_000)
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Converts a shared lock into an exclusive one.
  ///
  /// The system releases the shared lock before it acquires the exclusive one, so another process may have had the
  /// vault in between. If this fails, the shared lock is held again and the keyring has to be read again.
  /// - Throws: ``VaultError`` with `busy`, naming the holder of the lock.
  func makeExclusive() throws {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let reason = errno
    let error: any Error =
      reason == EWOULDBLOCK
      ? Self.held(descriptor, by: .shared) : FileError("lock", path, Descriptor.Failure(number: reason))
    try makeShared()
    throw error
  }

  /// Converts an exclusive lock into a shared one, or waits for a shared one.
  func makeShared() throws {
    while flock(descriptor, LOCK_SH) != 0 {
      guard errno == EINTR else { throw FileError.last("lock", path) }
    }
  }

  /// Returns the other processes that hold the lock, if the system lists them: `fieldvault (process 1234)`.
  var otherHolders: [String] { LockHolders.names(of: descriptor, withThisProcess: false) }

  private static func held(_ descriptor: Int32, by mode: Mode) -> VaultError {
    let names = LockHolders.names(of: descriptor)
    let who = names.isEmpty ? "another process" : names.joined(separator: ", ")
    switch mode {
    case .exclusive:
      return VaultError(
        .busy, "the files of this vault are in use by \(who)", hint: "wait until it has finished")
    case .shared:
      return VaultError(.busy, "the vault is open in \(who)", hint: "close it there, then try again")
    }
  }
}

/// The holders of a file lock.
enum LockHolders {
  #if os(Linux)
    /// Returns the other processes that hold a lock on the file of a descriptor, as proc_locks(5) lists them; empty
    /// if the list cannot be read.
    static func names(of descriptor: Int32, withThisProcess: Bool = true) -> [String] {
      var status = stat()
      guard fstat(descriptor, &status) == 0, let list = text(of: "/proc/locks") else { return [] }
      // `7: FLOCK  ADVISORY  READ 1234 fd:01:393228 0 EOF`: the device in hexadecimal, the inode in decimal digits.
      let inode = ":\(status.st_ino)"
      var names: [String] = []
      for line in list.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard words.count >= 6, words[1] == "FLOCK", words[5].hasSuffix(inode), let process = Int32(words[4]) else {
          continue
        }
        if process == getpid(), !withThisProcess { continue }
        let name = process == getpid() ? "another part of this program" : describe(process)
        if !names.contains(name) { names.append(name) }
      }
      return names
    }

    private static func describe(_ process: Int32) -> String {
      guard let name = text(of: "/proc/\(process)/comm")?.split(separator: "\n").first else {
        return "process \(process)"
      }
      return "\(name) (process \(process))"
    }

    /// Returns the beginning of a file of the system, at most 1 MiB.
    private static func text(of path: String) -> String? {
      let descriptor = cplatform_open(path, O_RDONLY | O_CLOEXEC, 0)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var bytes: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 64 << 10)
      while bytes.count < 1 << 20 {
        let count = read(descriptor, &part, part.count)
        guard count > 0 else { break }
        bytes += part[..<count]
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  #else
    /// The system does not list the holders of locks.
    static func names(of descriptor: Int32, withThisProcess: Bool = true) -> [String] { [] }
  #endif
}
