import CipherSQL
import Dispatch
import Platform

/// Encrypts segments in the background while the next segment is read and hashed. Both take about the same time.
final class SealingLine: Sendable {
  /// The number of memories: one is filled, one waits and one is encrypted.
  private static let most = 3

  private let sealer: SegmentSealer
  private let queue = WorkQueue("org.fieldvault.sealing")
  private let free = Locked<[SegmentMemory]>([])
  /// The number of available memories. It starts at 0, because a semaphore must not end below its initial value.
  private let available = DispatchSemaphore(value: 0)
  private let failure = Locked<SealedFileError?>(nil)

  init(_ sealer: SegmentSealer) {
    self.sealer = sealer
    for _ in 0..<Self.most { available.signal() }
  }

  /// Returns an empty memory as soon as one is available.
  func memory() -> SegmentMemory {
    available.wait()
    let memory = free.withLock { $0.popLast() } ?? SegmentMemory()
    memory.count = 0
    return memory
  }

  /// Queues a full memory for encryption.
  /// - Throws: an earlier error of the background thread.
  func seal(_ plain: SegmentMemory, segment: Int) throws(SealedFileError) {
    queue.add { [self] in
      do throws(SealedFileError) {
        // After a missing segment, further segments are useless.
        if failure.withLock({ $0 }) == nil { try sealer.seal(plain.content, segment: segment, isLast: false) }
      } catch {
        failure.withLock { $0 = error }
      }
      free.withLock { $0.append(plain) }
      available.signal()
    }
    try check()
  }

  /// Waits until all work is done.
  /// - Throws: an error of the background thread, also in all later calls.
  func finish() throws(SealedFileError) {
    queue.wait()
    try check()
  }

  private func check() throws(SealedFileError) {
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
