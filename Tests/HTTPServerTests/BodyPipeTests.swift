import Foundation
import Platform
import TestSupport
import Testing

@testable import HTTPServer

/// Bodies that are made while they are sent.
@Suite struct BodyPipeTests {
  private func read(_ pipe: BodyPipe, _ size: Int = 1000) -> (result: BodyReadResult, bytes: [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: size)
    let result = buffer.withUnsafeMutableBytes { pipe.read(into: $0) }
    guard case .bytes(let count) = result else { return (result, []) }
    return (result, Array(buffer[..<count]))
  }

  /// Reads to the end or the failure.
  private func readAll(_ pipe: BodyPipe, size: Int) async -> (bytes: [UInt8], isComplete: Bool) {
    var all: [UInt8] = []
    while true {
      let (result, bytes) = read(pipe, size)
      switch result {
      case .bytes: all += bytes
      case .empty: await withCheckedContinuation { continuation in pipe.whenReady { continuation.resume() } }
      case .end: return (all, true)
      case .failed: return (all, false)
      }
    }
  }

  @Test(
    "The reader receives every byte in order, and the buffer stays within its limit", arguments: [1, 7, 1000, 5000])
  func order(size: Int) async throws {
    let most = Locked(0)
    let ends = Locked(0)
    let pipe = BodyPipe(limit: 4000, atEnd: { ends.withLock { $0 += 1 } }) { pipe in
      try await offload {
        for part in 0..<50 {
          try pipe.write((0..<999).map { UInt8(truncatingIfNeeded: part &* 7 &+ $0) })
          most.withLock { $0 = max($0, pipe.bufferedBytes) }
        }
      }
    }
    let (bytes, isComplete) = await readAll(pipe, size: size)
    #expect(isComplete)
    #expect(bytes == (0..<50).flatMap { part in (0..<999).map { UInt8(truncatingIfNeeded: part &* 7 &+ $0) } })
    #expect(most.withLock { $0 } < 4000 + 999)
    try await eventually("the end is told") { ends.withLock { $0 } == 1 }
  }

  @Test("A body whose task fails is incomplete")
  func failure() async {
    let pipe = BodyPipe { pipe in
      try pipe.write([1, 2])
      throw Unexpected("no more")
    }
    #expect(await !readAll(pipe, size: 10).isComplete)
  }

  @Test("A body that nobody reads does no work, and its end is told")
  func unread() {
    let ends = Locked(0)
    let pipe = BodyPipe(atEnd: { ends.withLock { $0 += 1 } }) { _ in Issue.record("the work began") }
    pipe.cut()
    pipe.cut()
    #expect(ends.withLock { $0 } == 1)
    guard case .failed = read(pipe).result else {
      Issue.record("a read of a cut body")
      return
    }
  }

  @Test("The cut of a body ends a task that waits for room, and one that does not write")
  func cut() async throws {
    for writes in [true, false] {
      let (ends, isCancelled) = (Locked(0), Locked(false))
      let pipe = BodyPipe(limit: 100, atEnd: { ends.withLock { $0 += 1 } }) { pipe in
        do {
          if writes { try await offload { while true { try pipe.write([UInt8](repeating: 1, count: 60)) } } }
          try await Task.sleep(for: .seconds(600))
        } catch is CancellationError {
          isCancelled.withLock { $0 = true }
          throw CancellationError()
        }
      }
      _ = read(pipe, 10)
      if writes { try await eventually("the buffer is full") { pipe.bufferedBytes >= 100 } }
      let isReady = Locked(false)
      if !writes { pipe.whenReady { isReady.withLock { $0 = true } } }
      pipe.cut()
      try await eventually("the task has ended") { isCancelled.withLock { $0 } && ends.withLock { $0 } == 1 }
      #expect(writes || isReady.withLock { $0 })
      #expect(pipe.bufferedBytes == 0)
    }
  }
}
