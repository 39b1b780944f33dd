import Dispatch
import Synchronization

/// Encrypts one segment in the background while the next one is read and hashed: both take about as long.
final class SealingLine: Sendable {
  private let sealer: SegmentSealer
  private let queue = DispatchQueue(label: "org.fieldvault.sealing")
  /// Taken while the background works.
  private let isFree = DispatchSemaphore(value: 1)
  private let failure = Mutex<SealedFileError?>(nil)

  init(_ sealer: SegmentSealer) { self.sealer = sealer }

  /// Waits until the segment before is written, then begins with this one, whose memory has to stay untouched until the
  /// next call returns.
  func seal(_ plain: SegmentMemory, segment: Int) throws(SealedFileError) {
    try finish()
    isFree.wait()
    queue.async { [self] in
      defer { isFree.signal() }
      do throws(SealedFileError) {
        try sealer.seal(plain.content, segment: segment, isLast: false)
      } catch {
        failure.withLock { $0 = error }
      }
    }
  }

  /// Waits until nothing is left to do.
  /// - Throws: what went wrong in the background; from then on always.
  func finish() throws(SealedFileError) {
    isFree.wait()
    isFree.signal()
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
