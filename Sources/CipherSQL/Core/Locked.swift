#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A value that one thread at a time may use.
///
/// Stands here in place of `Synchronization.Mutex` because the thread sanitizer does not see that one: it lives in a
/// library that is not instrumented, so that every contended use is reported as a race, and a real one would be lost
/// among them. A POSIX mutex is known to the sanitizer.
///
/// `@unchecked Sendable` holds because `content` is reached in `withLock` alone, between locking and unlocking, and
/// State itself may go from thread to thread.
package final class Locked<State: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var content: Content

  /// The thread sanitizer takes the address of a value without a size, such as `()`, for the address of this object, which
  /// every thread reads. The second field gives the content a size.
  private struct Content {
    var value: State
    let size: UInt8 = 0
  }

  package init(_ value: State) {
    content = Content(value: value)
    mutex = .allocate(capacity: 1)
    // Fails for want of memory or with attributes only, and there are none.
    let result = pthread_mutex_init(mutex, nil)
    precondition(result == 0, "no memory for a mutex")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Runs a body with the value, to the exclusion of all other threads. Must not be nested.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&content.value)
  }
}
