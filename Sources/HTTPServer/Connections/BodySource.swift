/// The result of a request for more of a body.
package enum BodyReadResult: Sendable {
  /// So many bytes were stored.
  case bytes(Int)
  /// The next bytes are not known yet; see ``BodySource/whenReady(_:)``.
  case empty
  /// The body is complete.
  case end
  /// The rest of the body cannot be made. The connection is closed, which tells the client that the body is incomplete.
  case failed
}

/// Makes the body of a response while it is sent, in constant memory.
///
/// ``read(into:)`` and ``whenReady(_:)`` are called by one thread at a time. ``cut()`` may be called by any thread at any
/// time, also repeatedly and after the end.
package protocol BodySource: Sendable {
  /// Stores the next bytes without blocking. The buffer is not empty.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyReadResult
  /// Calls `ready` once, from any thread, when ``read(into:)`` has a result other than ``BodyReadResult/empty``. Called
  /// once for each ``BodyReadResult/empty``.
  func whenReady(_ ready: @escaping @Sendable () -> Void)
  /// No client waits for the rest. Ends the work on it; further reads fail.
  func cut()
}
