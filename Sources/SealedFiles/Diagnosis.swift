/// Finds the reason why a file does not open. Only the error differs: no content is returned in any case.
struct Diagnosis {
  private let opener: SegmentOpener
  private let memory: SegmentMemory

  /// - Parameter memory: is overwritten.
  init(_ opener: SegmentOpener, _ memory: SegmentMemory) { (self.opener, self.memory) = (opener, memory) }

  /// The length of the content, by the length in the header and the size of the file, which have to agree.
  func plainSize(length: UInt64?, size: Int) throws(SealedFileError) -> Int {
    guard let length else { throw .content(.unfinished, opener.path, "is incomplete") }
    let bySize = SealedFileFormat.plainSize(ofSealed: size)
    if let bySize, length == UInt64(bySize) { return bySize }
    if let bySize, try endsWhole(bySize) {
      throw .content(.damaged, opener.path, "the length in its header is damaged")
    }
    let expected = Int(exactly: length).flatMap { $0 >> 60 == 0 ? SealedFileFormat.sealedSize(ofPlain: $0) : nil }
    throw size < expected ?? .max
      ? .content(.truncated, opener.path, "is truncated")
      : .content(.appended, opener.path, "has extra bytes at its end")
  }

  /// Returns the reason why a segment does not open.
  func ofSegment(_ segment: Int, plainCount: Int, segmentCount: Int) throws(SealedFileError) -> SealedFileError {
    let isLast = segment == segmentCount - 1
    // A segment that opens with another number was written by the same key, as another part of the file.
    if try opener.opens(segment, plainCount: plainCount, isLast: !isLast, into: memory.all) {
      return isLast
        ? .content(.truncated, opener.path, "is truncated after a segment")
        : .content(.appended, opener.path, "has extra segments at its end")
    }
    for other in 0..<segmentCount where other != segment {
      guard try beginsWith(segment, sealedAs: other, plainCount: plainCount, segmentCount) else { continue }
      return .content(.misplaced, opener.path, "segment \(other) is in the place of segment \(segment)")
    }
    return .content(.damaged, opener.path, "segment \(segment) is damaged, or the key is wrong")
  }

  private func endsWhole(_ plainSize: Int) throws(SealedFileError) -> Bool {
    let last = SealedFileFormat.segmentCount(ofPlain: plainSize) - 1
    let count = plainSize - last * SealedFileFormat.segmentBytes
    return try opener.opens(last, plainCount: count, isLast: true, into: memory.all)
  }

  /// Returns whether the first message at a position belongs to another segment of this file.
  private func beginsWith(
    _ place: Int, sealedAs segment: Int, plainCount: Int, _ segmentCount: Int
  ) throws(SealedFileError) -> Bool {
    let messages = try opener.begin(
      place, sealedAs: segment, plainCount: plainCount, isLast: segment == segmentCount - 1)
    guard let messages else { return false }
    return try messages.opensNext(UnsafeMutableRawBufferPointer(rebasing: memory.all[..<messages.nextCount]))
  }
}
