import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The threads that run a read or a write of one database.
///
/// A nested call would wait for a connection while it already has one. Two such threads can deadlock. Every nested call
/// is therefore refused, even if a connection is free.
final class NestingGuard: Sendable {
  private let threads = Locked<[(thread: pthread_t, access: String)]>([])

  /// Refuses a call on a thread that is already inside a body.
  /// - Throws: ``SQLError`` with `nestedAccess`.
  func refuseNesting(of access: String) throws(SQLError) {
    let thread = pthread_self()
    let outer = threads.withLock { $0.first { pthread_equal($0.thread, thread) != 0 }?.access }
    guard let outer else { return }
    throw SQLError(
      .nestedAccess, "a \(access) inside a \(outer) of the same database could deadlock",
      hint: "use the connection that the closure of the \(outer) receives")
  }

  /// Runs a body that belongs to this thread.
  func marking<Result>(_ access: String, _ body: () throws -> Result) rethrows -> Result {
    let thread = pthread_self()
    threads.withLock { $0.append((thread, access)) }
    defer {
      threads.withLock { threads in
        if let index = threads.lastIndex(where: { pthread_equal($0.thread, thread) != 0 }) { threads.remove(at: index) }
      }
    }
    return try body()
  }
}
