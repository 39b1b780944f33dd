import CSodium
import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The result of writing a file.
package struct SealedFileSummary: Sendable, Equatable {
  /// The size of the content, in bytes.
  package let plainBytes: Int
  /// The size of the encrypted file, in bytes.
  package let sealedBytes: Int
  /// The SHA-256 of the content, as 64 lowercase hexadecimal digits.
  package let sha256: String
}

/// Encrypts a content to a file sequentially, in constant memory: at most three segments of the content, which are
/// wiped at the end.
///
/// For one thread at a time. A file without ``finish()`` is not an encrypted file. ``resume(_:key:identity:)``
/// continues it. The caller renames the finished file and flushes the folder.
package final class SealedFileWriter {
  /// The number of bytes of a read, small enough to hash them while they are in the processor's cache.
  private static let readBytes = 1 << 17

  private let sealer: SegmentSealer
  private let line: SealingLine
  private let digest: ContentDigest
  private var filling: SegmentMemory
  private var segment: Int
  private var isOver = false

  /// The number of bytes of the content so far.
  package var plainBytes: Int { segment * SealedFileFormat.segmentBytes + filling.count }

  /// Creates a file with mode 0600. The path must not exist.
  /// - Throws: ``SealedFileError`` `alreadyExists`, `noSpace` or `cannotWrite`.
  package convenience init(
    creating path: String, key: SealingKey, identity: SealedFileIdentity
  ) throws(SealedFileError) {
    let sealer: SegmentSealer
    do throws(Descriptor.Failure) {
      sealer = SegmentSealer(
        try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600), path: path, key: key,
        identity: identity)
    } catch {
      throw .writing(path, error)
    }
    try sealer.writeHeader(length: nil)
    self.init(sealer, digest: ContentDigest(), segment: 0)
  }

  init(_ sealer: SegmentSealer, digest: ContentDigest, segment: Int) {
    (self.sealer, self.digest, self.segment) = (sealer, digest, segment)
    line = SealingLine(sealer)
    filling = line.memory()
  }

  deinit {
    // The background thread may still read the memory that is freed here. Its result does not matter, because the
    // file was not finished.
    _ = Result { () throws(SealedFileError) in try line.finish() }
  }

  /// Appends bytes to the content.
  /// - Throws: ``SealedFileError`` `noSpace` or `cannotWrite`, also for bytes of an earlier call; the file can then
  ///   only be passed to ``resume(_:key:identity:)``.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(SealedFileError) {
    var rest = bytes
    while !rest.isEmpty {
      // Now the full segment is known not to be the last one.
      if filling.room.isEmpty { try handOver() }
      let count = min(rest.count, filling.room.count)
      filling.room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
      take(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Appends bytes to the content.
  package func append(_ bytes: [UInt8]) throws(SealedFileError) {
    try bytes.withBytes { bytes throws(SealedFileError) in try append(bytes) }
  }

  /// Reads a source to its end.
  /// - Parameter read: fills the buffer from its start and returns the number of bytes; 0 at the end.
  package func append(reading read: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
    while true {
      while !filling.room.isEmpty {
        let room = UnsafeMutableRawBufferPointer(rebasing: filling.room.prefix(Self.readBytes))
        let count = try read(room)
        precondition(count <= room.count)
        if count == 0 { return }
        take(count)
      }
      // Whether the full segment is the last one is known when more has come, which has no room in it.
      let next = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readBytes, alignment: 64)
      defer {
        if let start = next.baseAddress { sodium_memzero(start, next.count) }
        next.deallocate()
      }
      let count = try read(next)
      if count == 0 { return }
      try append(UnsafeRawBufferPointer(rebasing: next[..<count]))
    }
  }

  /// Ends the content and waits until the file is on the disk.
  /// - Throws: ``SealedFileError`` `noSpace` or `cannotWrite`; the file is then not finished.
  package func finish() throws(SealedFileError) -> SealedFileSummary {
    precondition(!isOver, "the file is already finished")
    try line.finish()
    try sealer.seal(filling.content, segment: segment, isLast: true)
    try sealer.writeHeader(length: plainBytes)
    try sealer.synchronize()
    isOver = true
    return SealedFileSummary(
      plainBytes: plainBytes, sealedBytes: SealedFileFormat.sealedSize(ofPlain: plainBytes), sha256: digest.finish())
  }

  /// Discards the file and removes it.
  package func abandon() {
    isOver = true
    _ = Result { () throws(SealedFileError) in try line.finish() }
    _ = unlink(sealer.path)
  }

  private func handOver() throws(SealedFileError) {
    try line.seal(filling, segment: segment)
    segment += 1
    filling = line.memory()
  }

  /// Adds bytes that are already in the buffer.
  private func take(_ count: Int) {
    precondition(!isOver, "the file is already finished")
    digest.add(UnsafeRawBufferPointer(rebasing: filling.room[..<count]))
    filling.count += count
  }
}

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
