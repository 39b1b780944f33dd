/// The treatment of a request, decided after its headers.
package enum Admission: Sendable {
  /// The body is collected. The server responds when the body is complete.
  case collect
  /// The request needs no body. A body is counted and dropped. The server responds at its end.
  case ignore
  /// The response is already known.
  case refuse(Response)
  /// The body is streamed to a destination that has to be found, or refused, first.
  /// - Parameter pattern: the pattern of the route, for the log.
  case open(pattern: String, @Sendable () async -> BodyDestination)
}

/// The facts about a request that are known before its body.
package struct AdmittedRequest: Sendable {
  package var admission: Admission
  /// The user, if the token was checked.
  package var caller: (any Caller)?
  /// Whether the request was counted by the rate limit.
  package var isCounted: Bool

  package init(admission: Admission, caller: (any Caller)? = nil, isCounted: Bool = false) {
    (self.admission, self.caller, self.isCounted) = (admission, caller, isCounted)
  }
}

/// The user of a request, for limits and revocation.
package protocol Caller: Sendable {
  /// The id of the user. Requests and bodies are counted per user.
  var userId: Int64 { get }
  /// The id of the token, which may be revoked during a request.
  var tokenId: Int64 { get }
  /// The time at which the token expires, in milliseconds since 1970-01-01 UTC; `nil` if only a look-up can tell.
  var expiresAt: Int64? { get }
  /// The name of the user's account, for the log.
  var accountName: String { get }
}

/// The destination of a body that is not collected.
package enum BodyDestination: Sendable {
  case sink(any BodySink)
  case refuse(Response)
}

/// The result of a part of a body.
package enum BodyWriteResult: Sendable {
  /// The part was accepted.
  case taken
  /// The part was accepted, and the buffer is full; see ``BodySink/whenReady(_:)``.
  case full
  /// The part was refused, and the response is known. The rest is dropped.
  case refused(Response)
  /// The rest is not needed. The connection is closed.
  case over
}

/// Receives a body in parts, in constant memory.
///
/// After its creation exactly one of ``finish()`` and ``cut()`` is called, once. ``take(_:)`` is called before that,
/// by one thread at a time. Bytes that the library has read already may arrive while the buffer is full.
package protocol BodySink: Sendable {
  /// Receives a part without blocking.
  func take(_ part: UnsafeBufferPointer<UInt8>) -> BodyWriteResult
  /// Makes room for more, then calls `ready`, from any thread. Called once for each ``BodyWriteResult/full``.
  func whenReady(_ ready: @escaping @Sendable () -> Void)
  /// The body is complete. Returns the response.
  func finish() async -> Response
  /// The connection was cut, and no client waits for a response.
  func cut()
}
