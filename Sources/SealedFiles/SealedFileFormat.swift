import VaultKeys

/// The sizes of an encrypted file. `SealedFileFormat.md` describes it for other programs.
package enum SealedFileFormat {
  /// The number of content bytes in a segment; the last segment may have fewer.
  package static let segmentBytes = 1 << 20
  /// The number of content bytes in a message; the last message of the last segment may have fewer.
  static let messageBytes = 1 << 16
  /// The size of a full message in the file, in bytes.
  static let sealedMessageBytes = messageBytes + SealingStream.overhead
  /// The size of a full segment in the file, in bytes.
  static let sealedSegmentBytes = sealedSegment(ofPlain: segmentBytes)

  /// The size of the encrypted file of a content, in bytes.
  package static func sealedSize(ofPlain count: Int) -> Int {
    let whole = max(count - 1, 0) / segmentBytes
    return offset(ofSegment: whole) + sealedSegment(ofPlain: count - whole * segmentBytes)
  }

  /// The size of the content of an encrypted file, in bytes; `nil` if no encrypted file has that size.
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

  /// The number of segments of a content; an empty content has one.
  static func segmentCount(ofPlain count: Int) -> Int { max(count - 1, 0) / segmentBytes + 1 }

  /// The offset of a segment in the file, in bytes.
  static func offset(ofSegment segment: Int) -> Int { SealedFileHeader.byteCount + segment * sealedSegmentBytes }

  private static func sealedSegment(ofPlain count: Int) -> Int {
    SealingStream.headerCount + count + max(1, (count + messageBytes - 1) / messageBytes) * SealingStream.overhead
  }
}
