#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A value that one thread at a time may access.
///
/// It replaces `Synchronization.Mutex`, which the thread sanitizer cannot see: that type is in a library without
/// instrumentation, so the sanitizer reports every contended use as a race. The sanitizer knows POSIX mutexes.
///
/// `@unchecked Sendable` holds because `content` is accessed in `withLock` only, between locking and unlocking, and
/// `State` may move between threads.
@usableFromInline
package final class Locked<State: Sendable>: @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline var content: Content

  /// The value and a second field, which gives it a size. For a value without size, such as `()`, the thread sanitizer
  /// would use the address of this object, which every thread reads.
  @usableFromInline
  struct Content {
    @usableFromInline var value: State
    let size: UInt8 = 0
  }

  package init(_ value: State) {
    content = Content(value: value)
    mutex = .allocate(capacity: 1)
    // pthread_mutex_init fails only without memory or with attributes, and there are no attributes.
    let result = pthread_mutex_init(mutex, nil)
    precondition(result == 0, "out of memory for a mutex")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs a body with the value, to the exclusion of all other threads. Must not be nested.
  @inlinable
  package func withLock<Result, Failure>(_ body: (inout State) throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&content.value)
  }
}
