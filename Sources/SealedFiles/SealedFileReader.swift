import VaultKeys

/// Reads an encrypted file in any order, in constant memory. It returns only bytes that were written at this place in
/// this file.
///
/// For one thread at a time.
package final class SealedFileReader {
  /// The size of the content, in bytes. It is authentic, because the last segment was opened.
  package let byteCount: Int
  private let opener: SegmentOpener
  private let segmentCount: Int
  private let memory = SegmentMemory()
  /// The segment whose content is in memory.
  private var held: Int?

  /// Opens a file and its last segment.
  /// - Throws: ``SealedFileError``: `notSealed`, `newerFormat`, `otherContent`, `unfinished`, `truncated`,
  ///   `appended`, `misplaced` or `damaged` for the content of the file; `notFound` or `unreadable`.
  package init(_ path: String, key: SealingKey, identity: SealedFileIdentity) throws(SealedFileError) {
    opener = try SegmentOpener(path, key: key, identity: identity)
    let length = try opener.length()
    byteCount = try Diagnosis(opener, memory).plainSize(length: length, size: try opener.size())
    segmentCount = SealedFileFormat.segmentCount(ofPlain: byteCount)
    try hold(segmentCount - 1)
  }

  /// Reads a part into memory.
  /// - Returns: the number of bytes: the size of the buffer, or fewer at the end of the content; 0 after the end.
  package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(SealedFileError) -> Int {
    precondition(offset >= 0)
    var done = 0
    while done < buffer.count, offset + done < byteCount {
      let (segment, start) = (offset + done).quotientAndRemainder(dividingBy: SealedFileFormat.segmentBytes)
      try hold(segment)
      let part = memory.content[start..<min(memory.count, start + buffer.count - done)]
      UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
      done += part.count
    }
    return done
  }

  /// Returns the bytes of a range.
  /// - Throws: ``SealedFileError`` `badRange` if it exceeds the end.
  package func read(_ range: Range<Int>) throws(SealedFileError) -> [UInt8] {
    guard range.lowerBound >= 0, range.upperBound <= byteCount else {
      throw SealedFileError(
        .badRange, "\(opener.path) has \(byteCount) bytes; the range \(range) is out of bounds",
        hint: "request a smaller range")
    }
    var failure: SealedFileError?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      do throws(SealedFileError) {
        count = try read(
          at: range.lowerBound, into: UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: range.count))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Calls `body` with all of the content from an offset on, part by part.
  package func forEachChunk(from offset: Int = 0, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var offset = offset
    while offset < byteCount {
      let (segment, start) = offset.quotientAndRemainder(dividingBy: SealedFileFormat.segmentBytes)
      if start == 0, held != segment {
        try stream(segment, body)
      } else {
        try hold(segment)
        try body(UnsafeRawBufferPointer(rebasing: memory.content[start...]))
      }
      offset = (segment + 1) * SealedFileFormat.segmentBytes
    }
  }

  /// Reads and authenticates the whole file.
  /// - Returns: the SHA-256 of the content, as 64 lowercase hexadecimal digits.
  package func verify() throws(SealedFileError) -> String {
    let digest = ContentDigest()
    for segment in 0..<segmentCount {
      try hold(segment)
      digest.add(memory.content)
    }
    return digest.finish()
  }

  private func plainCount(of segment: Int) -> Int {
    min(byteCount - segment * SealedFileFormat.segmentBytes, SealedFileFormat.segmentBytes)
  }

  /// Reads the content of a segment into memory.
  private func hold(_ segment: Int) throws(SealedFileError) {
    guard held != segment else { return }
    held = nil
    let count = plainCount(of: segment)
    guard try opener.opens(segment, plainCount: count, isLast: segment == segmentCount - 1, into: memory.all) else {
      throw try diagnosis(of: segment)
    }
    (held, memory.count) = (segment, count)
  }

  /// Returns a segment message by message, each after it was opened, so that the bytes are still in the cache of the
  /// processor.
  private func stream(_ segment: Int, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    held = nil
    let messages = try opener.begin(
      segment, sealedAs: segment, plainCount: plainCount(of: segment), isLast: segment == segmentCount - 1)
    guard let messages else { throw try diagnosis(of: segment) }
    while messages.nextCount > 0 {
      let plain = UnsafeMutableRawBufferPointer(rebasing: memory.all[..<messages.nextCount])
      guard try messages.opensNext(plain) else { throw try diagnosis(of: segment) }
      try body(UnsafeRawBufferPointer(plain))
    }
  }

  private func diagnosis(of segment: Int) throws(SealedFileError) -> SealedFileError {
    try Diagnosis(opener, memory).ofSegment(segment, plainCount: plainCount(of: segment), segmentCount: segmentCount)
  }
}
