import CSodium

/// The bytes of a key or a secret, in guarded memory.
///
/// The memory comes from libsodium: between guard pages, locked so that it is not swapped out (as far as the limits
/// of the process allow), excluded from core dumps, and wiped with the last reference.
///
/// **Threads.** May be shared and read by any number of threads. Only the initialiser writes the bytes, before another
/// thread can have the object. Afterwards the pages are read-only for the whole process, and a write would trap. This
/// justifies `@unchecked Sendable`: the object has no mutable state.
public final class SecureBytes: @unchecked Sendable {
  private let memory: UnsafeMutableRawPointer
  /// The number of bytes, 0 or more.
  public let count: Int

  /// Allocates guarded memory of `count` zero bytes, which `fill` writes and which is read-only afterwards.
  ///
  /// - Throws: ``KeyError`` `outOfMemory`, or the errors of `fill`. The memory is wiped and freed in this case.
  public convenience init(
    count: Int, filling fill: (UnsafeMutableRawBufferPointer) throws(KeyError) -> Void
  ) throws(KeyError) {
    try self.init(
      count: count,
      writing: { start throws(KeyError) in
        try fill(UnsafeMutableRawBufferPointer(start: start, count: count))
      })
  }

  /// Allocates guarded memory that a closure writes through the pointer type of libsodium's C functions.
  init(count: Int, writing fill: (UnsafeMutablePointer<UInt8>) throws(KeyError) -> Void) throws(KeyError) {
    guard Sodium.isReady, count >= 0, let memory = sodium_malloc(max(count, 1)) else {
      throw .outOfMemory("a key")
    }
    self.memory = memory
    self.count = count
    sodium_memzero(memory, max(count, 1))
    try fill(memory.assumingMemoryBound(to: UInt8.self))
    guard sodium_mprotect_readonly(memory) == 0 else { throw .outOfMemory("a key") }
  }

  /// Copies bytes into guarded memory. The source is not wiped; see ``init(wiping:)``.
  public convenience init(copying source: UnsafeRawBufferPointer) throws(KeyError) {
    try self.init(count: source.count, filling: { target in target.copyMemory(from: source) })
  }

  /// Copies the bytes and overwrites the array with zeros, also if it throws.
  public convenience init(wiping source: inout [UInt8]) throws(KeyError) {
    defer { sodium_memzero(&source, source.count) }
    try self.init(count: source.count, filling: { target in target.copyBytes(from: source) })
  }

  deinit {
    // Makes the pages writable, checks the canary, wipes, unlocks and gives back.
    sodium_free(memory)
  }

  /// Calls `body` with the bytes. The pointer must not leave the closure.
  public func withUnsafeBytes<Result, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// Calls `body` with the pointer type of libsodium's C functions.
  func withPointer<Result, Failure>(
    _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)))
  }
}

/// The initialisation of libsodium. Every key passes through ``SecureBytes``, which checks it first.
enum Sodium {
  static let isReady: Bool = sodium_init() >= 0
}
