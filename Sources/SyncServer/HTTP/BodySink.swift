/// What becomes of a request when its headers are there.
enum Admission: Sendable {
  /// The body is collected, and the request answered when it is complete.
  case collect
  /// A body is not expected: what comes of one is counted and dropped, and the request answered when it is over.
  case ignore
  /// The answer is known already.
  case refuse(Response)
  /// The body goes somewhere as it comes; where, or why not, has to be found out first.
  /// - Parameter pattern: that of the route, for the log.
  case open(pattern: String, @Sendable () async -> BodyDestination)
}

/// What was found out about a request before its body.
struct AdmittedRequest: Sendable {
  var admission: Admission
  /// Who asks, where the route is for members.
  var member: Member?
  /// Whether the request was counted by the rate limit.
  var isCounted = false
}

/// Where a body goes that is not collected.
enum BodyDestination: Sendable {
  case sink(any BodySink)
  case refuse(Response)
}

/// What becomes of a part of a body.
enum BodyWriteResult: Sendable {
  /// It was taken.
  case taken
  /// It was taken, and room has to be made before more is read; see ``BodySink/whenReady(_:)``.
  case full
  /// It is not taken, and the answer is known; what else comes is dropped.
  case refused(Response)
  /// Nobody wants the rest any more: the connection is closed.
  case over
}

/// Takes a body as it comes, in constant memory.
///
/// After it was made, exactly one of ``finish()`` and ``cut()`` is called, once; ``take(_:)`` only before, by one thread
/// at a time. What the library has read already may come while room is being made.
protocol BodySink: Sendable {
  /// Takes a part without waiting for anything.
  func take(_ part: UnsafeBufferPointer<UInt8>) -> BodyWriteResult
  /// Makes room for more, then calls `ready`, from any thread. Called once for each ``BodyWriteResult/full``.
  func whenReady(_ ready: @escaping @Sendable () -> Void)
  /// The body is complete: the answer.
  func finish() async -> Response
  /// No more comes, and nobody waits for an answer.
  func cut()
}
