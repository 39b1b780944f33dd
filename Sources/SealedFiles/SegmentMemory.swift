import CSodium

/// Memory for one segment of a content, wiped at its end.
///
/// `@unchecked Sendable` holds because it belongs to one thread at a time: ``SealingLine`` owns it between receiving it
/// and handing it out again.
final class SegmentMemory: @unchecked Sendable {
  let all = UnsafeMutableRawBufferPointer.allocate(byteCount: SealedFileFormat.segmentBytes, alignment: 64)
  /// The number of bytes filled so far.
  var count = 0

  var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: all[..<count]) }
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: all[count...]) }

  deinit {
    if let start = all.baseAddress { sodium_memzero(start, all.count) }
    all.deallocate()
  }
}
