import CipherSQL
import Foundation

/// One running request: the received bytes, its timeouts, and its caller. It ends once: with the response, a timeout
/// or a cancellation, whichever is first.
package final class RequestTask: Sendable {
  private struct State {
    var head: ResponseHead?
    var body: [UInt8] = []
    /// The destination of the body, if it is not collected.
    var sink: HTTPDownload.Sink?
    var bytesReceived = 0
    var waiter: CheckedContinuation<Result<HTTPResponse, TransportFailure>, Never>?
    var result: Result<HTTPResponse, TransportFailure>?
    /// The time at which the silence timeout ends, and its duration.
    var silenceEnds: ContinuousClock.Instant
    var silenceSeconds: Double
  }

  private let limits: TransportLimits
  private let bytesSent: Int
  private let download: HTTPDownload?
  private let hasBody: Bool
  private let clock: Clock
  private let begin: ContinuousClock.Instant
  private let wholeSeconds: Double
  private let state: Locked<State>

  init(_ request: HTTPRequest, limits: TransportLimits, clock: Clock) {
    (self.limits, self.clock) = (limits, clock)
    begin = clock.instant()
    bytesSent = request.upload.map { Int($0.byteCount) } ?? request.body?.count ?? 0
    download = request.download
    // For HEAD, the length is that of the response to GET.
    hasBody = request.method != "HEAD"
    // A streamed body may take as long as it makes progress. A week means no limit.
    let isStreamed = request.upload != nil || request.download != nil
    wholeSeconds = isStreamed ? 604_800 : limits.wholeSeconds + request.timeoutSeconds
    let silenceSeconds = limits.idleSeconds + request.timeoutSeconds
    state = Locked(State(silenceEnds: begin + .seconds(silenceSeconds), silenceSeconds: silenceSeconds))
  }

  /// Starts the exchange and waits for its end. Does not start a cancelled exchange.
  func wait(_ start: () -> Void) async -> Result<HTTPResponse, TransportFailure> {
    await withCheckedContinuation { continuation in
      let result = state.withLock { state in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let result { continuation.resume(returning: result) } else { start() }
    }
  }

  /// Whether the exchange is over.
  package var isOver: Bool { state.withLock { $0.result != nil } }

  package func receive(_ head: ResponseHead) {
    let isFailure = (300..<400).contains(head.status)
    let sink = isFailure ? nil : download?.begin(HTTPHead(status: head.status, headers: head.headers))
    let isTooLarge = sink == nil && hasBody && head.contentLength.map { $0 > Int64(limits.bodyBytes) } ?? false
    state.withLock { state in
      state.head = head
      state.sink = sink
      // Reserves only a part, because the response may claim any length.
      if !isTooLarge, sink == nil { state.body.reserveCapacity(Int(min(head.contentLength ?? 0, 1 << 20))) }
      extendSilence(&state)
    }
    if isTooLarge { finish(.failure(.tooLarge(limitBytes: limits.bodyBytes))) }
    if isFailure { finish(.failure(.notTheServer(detail: "it redirects"))) }
  }

  package func receive(_ bytes: UnsafeRawBufferPointer) {
    let (sink, isOver) = state.withLock { state in
      extendSilence(&state)
      state.bytesReceived += bytes.count
      return (state.sink, state.result != nil)
    }
    if isOver { return }
    guard let sink else { return collect(bytes) }
    do {
      try sink(bytes)
    } catch {
      // The owner of the sink knows the reason.
      finish(.failure(.bodyFailed))
    }
  }

  /// Notes that a part of the body was sent, so the server cannot respond yet.
  func progressed() { state.withLock { extendSilence(&$0) } }

  private func collect(_ bytes: UnsafeRawBufferPointer) {
    let isTooLarge = state.withLock { state in
      if state.result != nil { return false }
      if state.body.count + bytes.count > limits.bodyBytes { return true }
      state.body.append(contentsOf: bytes)
      return false
    }
    if isTooLarge { finish(.failure(.tooLarge(limitBytes: limits.bodyBytes))) }
  }

  /// Ends the exchange with its complete response or a failure.
  package func complete(_ failure: TransportFailure?) {
    let (head, body, bytesReceived) = state.withLock { ($0.head, $0.body, $0.bytesReceived) }
    switch (failure, head) {
    case (.notTheServer?, _), (_?, nil): finish(.failure(failure ?? .cancelled))
    case (_?, _?): finish(.failure(.noConnection(detail: "the response ended before it was whole")))
    case (nil, nil): finish(.failure(.notTheServer(detail: "it does not speak HTTP")))
    case (nil, let head?): finish(.success(response(head, body, bytesReceived)))
    }
  }

  package func finish(_ result: Result<HTTPResponse, TransportFailure>) {
    let waiter = state.withLock { state -> CheckedContinuation<Result<HTTPResponse, TransportFailure>, Never>? in
      guard state.result == nil else { return nil }
      state.result = result
      state.body = []
      state.sink = nil
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: result)
  }

  private func response(_ head: ResponseHead, _ body: [UInt8], _ bytesReceived: Int) -> HTTPResponse {
    let type = (head.contentType ?? "").prefix { $0 != ";" }
    return HTTPResponse(
      status: head.status, headers: head.headers,
      retryAfterSeconds: RetryAfter.seconds(
        head.retryAfter, date: head.date, now: clock.now()),
      contentType: type.lowercased().trimmingCharacters(in: .whitespaces), body: body,
      duration: clock.instant() - begin, bytesSent: bytesSent, bytesReceived: bytesReceived)
  }

  // MARK: Limits of time

  private func extendSilence(_ state: inout State) {
    state.silenceEnds = clock.instant() + .seconds(limits.idleSeconds)
    state.silenceSeconds = limits.idleSeconds
  }

  /// Ends the exchange if one of its timeouts has passed. Returns the nearest timeout.
  package func look(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
    let end = begin + .seconds(wholeSeconds)
    let (silenceEnds, silenceSeconds) = state.withLock { ($0.silenceEnds, $0.silenceSeconds) }
    if now >= end {
      finish(.failure(.timedOut(seconds: wholeSeconds)))
    } else if now >= silenceEnds {
      finish(.failure(.timedOut(seconds: silenceSeconds)))
    }
    return min(end, silenceEnds)
  }
}
