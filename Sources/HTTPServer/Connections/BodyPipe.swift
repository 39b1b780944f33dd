import Dispatch
import Platform

/// A body that a task writes while it is sent. The task waits while the buffer is full, so the memory does not depend on
/// the size of the body.
package final class BodyPipe: BodySource {
  private struct State {
    var parts: [[UInt8]] = []
    /// The number of bytes of the first part that were read.
    var taken = 0
    var bytes = 0
    var stage = Stage.waiting
    var isWriterWaiting = false
    var ready: (@Sendable () -> Void)?
    var task: Task<Void, Never>?
    var produce: (@Sendable (BodyPipe) async throws -> Void)?
  }

  private enum Stage { case waiting, running, complete, failed }

  private let state: Locked<State>
  private let limit: Int
  private let room = DispatchSemaphore(value: 0)
  private let atEnd: @Sendable () -> Void

  /// - Parameters:
  ///   - limit: the number of bytes from which the task waits.
  ///   - atEnd: called once, when the task has ended, or when the body is cut before the task has begun.
  ///   - produce: calls ``write(_:)`` for each part of the body. It begins with the first read, so a response to `HEAD` does
  ///     no work. Its task is cancelled when the body is cut. If it throws, the client receives an incomplete body.
  package init(
    limit: Int = 256 << 10, atEnd: @escaping @Sendable () -> Void = {},
    produce: @escaping @Sendable (BodyPipe) async throws -> Void
  ) {
    (self.limit, self.atEnd, state) = (limit, atEnd, Locked(State(produce: produce)))
  }

  // MARK: Writing

  /// Appends bytes. Blocks the thread while the buffer is full.
  /// - Throws: `CancellationError` if no client waits for the rest.
  package func write(_ bytes: [UInt8]) throws {
    while true {
      let (isWritten, ready) = try state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
        guard state.stage == .running else { throw CancellationError() }
        guard state.bytes < limit else {
          state.isWriterWaiting = true
          return (false, nil)
        }
        if !bytes.isEmpty { state.parts.append(bytes) }
        state.bytes += bytes.count
        defer { state.ready = nil }
        return (true, state.ready)
      }
      ready?()
      if isWritten { return }
      room.wait()
    }
  }

  /// The number of bytes in the buffer.
  package var bufferedBytes: Int { state.withLock { $0.bytes } }

  private func begin() {
    let produce = state.withLock { state -> (@Sendable (BodyPipe) async throws -> Void)? in
      guard state.stage == .waiting else { return nil }
      state.stage = .running
      defer { state.produce = nil }
      return state.produce
    }
    guard let produce else { return }
    let task = startTask { [self] in
      let isComplete: Bool
      do {
        try await produce(self)
        isComplete = true
      } catch {
        // The client finds the end of the connection before the end of the body.
        isComplete = false
      }
      end(isComplete ? .complete : .failed)
      atEnd()
    }
    let isLate = state.withLock { state in
      if state.stage == .running { state.task = task }
      return state.stage == .failed
    }
    if isLate { task.cancel() }
  }

  private func end(_ stage: Stage) {
    let ready = state.withLock { state -> (@Sendable () -> Void)? in
      if state.stage == .running { state.stage = stage }
      defer { (state.ready, state.task) = (nil, nil) }
      return state.ready
    }
    ready?()
  }

  // MARK: Reading

  package func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyReadResult {
    begin()
    let (result, hasRoom) = state.withLock { state -> (BodyReadResult, Bool) in
      if state.stage == .failed { return (.failed, false) }
      guard let part = state.parts.first else { return (state.stage == .complete ? .end : .empty, false) }
      let count = min(buffer.count, part.count - state.taken)
      part.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[state.taken..<state.taken + count]))
      }
      state.taken += count
      state.bytes -= count
      if state.taken == part.count {
        state.parts.removeFirst()
        state.taken = 0
      }
      defer { if state.bytes < limit { state.isWriterWaiting = false } }
      return (.bytes(count), state.isWriterWaiting && state.bytes < limit)
    }
    if hasRoom { room.signal() }
    return result
  }

  package func whenReady(_ ready: @escaping @Sendable () -> Void) {
    let isReady = state.withLock { state in
      guard state.stage == .running, state.parts.isEmpty else { return true }
      state.ready = ready
      return false
    }
    if isReady { ready() }
  }

  package func cut() {
    let (task, ready, isBefore, isWriterWaiting) = state.withLock { state in
      let isBefore = state.stage == .waiting
      guard isBefore || state.stage == .running else { return (nil, nil, false, false) as Cut }
      defer {
        (state.stage, state.parts, state.bytes, state.isWriterWaiting) = (.failed, [], 0, false)
        (state.ready, state.produce, state.task) = (nil, nil, nil)
      }
      return (state.task, state.ready, isBefore, state.isWriterWaiting)
    }
    task?.cancel()
    if isWriterWaiting { room.signal() }
    ready?()
    if isBefore { atEnd() }
  }

  private typealias Cut = (
    task: Task<Void, Never>?, ready: (@Sendable () -> Void)?, isBefore: Bool, isWriterWaiting: Bool
  )
}
