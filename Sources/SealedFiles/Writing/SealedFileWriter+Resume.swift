import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SealedFileWriter {
  /// Resumes a file that was not finished, after its last complete segment. Later bytes are truncated. Every segment
  /// is opened, so that only authentic ones remain, and the digest covers the whole content.
  ///
  /// ``plainBytes`` is the offset from which the content is needed.
  /// - Throws: ``SealedFileError`` `otherContent` or a similar code if the header belongs to another content,
  ///   `notFound`, `unreadable`, `noSpace` or `cannotWrite`.
  package static func resume(
    _ path: String, key: SealingKey, identity: SealedFileIdentity
  ) throws(SealedFileError) -> SealedFileWriter {
    let digest = ContentDigest()
    let segments = try wholeSegments(of: path, key, identity, digest)
    let sealer: SegmentSealer
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, O_WRONLY | O_NOFOLLOW)
      try file.setSize(SealedFileFormat.offset(ofSegment: segments))
      sealer = SegmentSealer(file, path: path, key: key, identity: identity)
    } catch {
      throw .writing(path, error)
    }
    try sealer.writeHeader(length: nil)
    return SealedFileWriter(sealer, digest: digest, segment: segments)
  }

  /// Returns the number of complete segments at the beginning. Their content is added to the digest.
  private static func wholeSegments(
    of path: String, _ key: SealingKey, _ identity: SealedFileIdentity, _ digest: ContentDigest
  ) throws(SealedFileError) -> Int {
    let opener = try SegmentOpener(path, key: key, identity: identity)
    // A file that was made, and nothing more; the header is written again.
    guard try opener.size() >= SealedFileHeader.byteCount else { return 0 }
    _ = try opener.length()
    let plain = SegmentMemory()
    var segment = 0
    while try opener.opens(segment, plainCount: SealedFileFormat.segmentBytes, isLast: false, into: plain.all) {
      digest.add(UnsafeRawBufferPointer(plain.all))
      segment += 1
    }
    return segment
  }
}
