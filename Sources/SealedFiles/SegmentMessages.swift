import VaultKeys

/// The messages of one segment, from the first to the last.
final class SegmentMessages {
  private let opener: SegmentOpener
  private let stream: OpeningStream
  private let associated: [UInt8]
  private var offset: Int
  private var left: Int

  init(_ opener: SegmentOpener, _ stream: OpeningStream, _ associated: [UInt8], offset: Int, plainCount: Int) {
    (self.opener, self.stream, self.associated) = (opener, stream, associated)
    (self.offset, left) = (offset, plainCount)
  }

  /// The number of content bytes in the next message; 0 after the last one.
  var nextCount: Int { min(left, SealedFileFormat.messageBytes) }

  /// Opens the next message. Returns `false` if its authentication fails. Otherwise its content is in memory.
  func opensNext(_ plain: UnsafeMutableRawBufferPointer) throws(SealedFileError) -> Bool {
    let count = plain.count + SealingStream.overhead
    let sealed = try opener.sealedBytes(at: offset, count: count)
    guard sealed.count == count else { return false }
    offset += count
    left -= plain.count
    let isFinal = associated.withUnsafeBytes { stream.open(sealed, into: plain, associated: $0) }
    return isFinal == (left == 0)
  }
}
