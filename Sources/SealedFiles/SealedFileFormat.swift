import VaultKeys

/// The sizes of an encrypted file. `SealedFileFormat.md` describes it for other programs.
package enum SealedFileFormat {
  /// How much of the content a segment has; the last one may have less.
  package static let segmentBytes = 1 << 20
  /// How much of the content a message has; the last one of the last segment may have less.
  static let messageBytes = 1 << 16
  /// How long a whole message is in the file.
  static let sealedMessageBytes = messageBytes + SealingStream.overhead
  /// How long a whole segment is in the file.
  static let sealedSegmentBytes = sealedSegment(ofPlain: segmentBytes)

  /// The size of the encrypted file of a content, in bytes.
  package static func sealedSize(ofPlain count: Int) -> Int {
    let whole = max(count - 1, 0) / segmentBytes
    return offset(ofSegment: whole) + sealedSegment(ofPlain: count - whole * segmentBytes)
  }

  /// The size of the content of an encrypted file; nil when no encrypted file has that size.
  package static func plainSize(ofSealed count: Int) -> Int? {
    let body = count - SealedFileHeader.byteCount
    guard body > 0 else { return nil }
    let whole = (body - 1) / sealedSegmentBytes
    let rest = body - whole * sealedSegmentBytes - SealingStream.headerCount
    let messages = (rest + sealedMessageBytes - 1) / sealedMessageBytes
    let last = rest - messages * SealingStream.overhead
    // Only an empty content has an empty message, and only the last message of a segment is short.
    guard rest > 0, last >= 0, sealedSegment(ofPlain: last) == rest + SealingStream.headerCount,
      last > 0 || whole == 0
    else { return nil }
    return whole * segmentBytes + last
  }

  /// How many segments a content has; an empty one has one.
  static func segmentCount(ofPlain count: Int) -> Int { max(count - 1, 0) / segmentBytes + 1 }

  /// Where a segment begins in the file.
  static func offset(ofSegment segment: Int) -> Int { SealedFileHeader.byteCount + segment * sealedSegmentBytes }

  private static func sealedSegment(ofPlain count: Int) -> Int {
    SealingStream.headerCount + count + max(1, (count + messageBytes - 1) / messageBytes) * SealingStream.overhead
  }
}
