import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Encrypts segments to their positions in a file.
///
/// `@unchecked Sendable` holds because ``SealingLine`` calls it from one thread at a time.
final class SegmentSealer: @unchecked Sendable {
  let path: String
  private let file: Descriptor
  private let key: SealingKey
  private let identity: SealedFileIdentity
  private let header: SealedFileHeader
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: SealingStream.headerCount + SealedFileFormat.sealedMessageBytes, alignment: 64)

  /// Creates a sealer for a file that is open for writing and begins with the header.
  init(_ file: consuming Descriptor, path: String, key: SealingKey, identity: SealedFileIdentity) {
    self.file = file
    (self.path, self.key, self.identity) = (path, key, identity)
    header = SealedFileHeader(identity)
  }

  deinit { sealed.deallocate() }

  /// Writes the header of the file.
  /// - Parameter length: the size of the content; `nil` while it may grow.
  func writeHeader(length: Int?) throws(SealedFileError) {
    do {
      try header.bytes(length: length).withBytes { bytes throws(Descriptor.Failure) in try file.write(bytes, at: 0) }
    } catch {
      throw .writing(path, error)
    }
  }

  /// Encrypts a segment and writes it.
  func seal(_ plain: UnsafeRawBufferPointer, segment: Int, isLast: Bool) throws(SealedFileError) {
    let segmentKey = try key.segmentKey(segment, of: identity.variant)
    let stream: SealingStream
    do {
      stream = try SealingStream(key: segmentKey)
    } catch {
      throw .memory(error)
    }
    let associated = header.associatedData(segment: segment, isLast: isLast)
    do {
      try associated.withBytes { associated throws(Descriptor.Failure) in
        try write(plain, segment: segment, stream, associated)
      }
    } catch {
      throw .writing(path, error)
    }
  }

  /// Writes each message while it is still in the cache of the processor.
  private func write(
    _ plain: UnsafeRawBufferPointer, segment: Int, _ stream: SealingStream, _ associated: UnsafeRawBufferPointer
  ) throws(Descriptor.Failure) {
    sealed.copyBytes(from: stream.header)
    // The header is written with the first message.
    var filled = SealingStream.headerCount
    var offset = SealedFileFormat.offset(ofSegment: segment)
    var start = 0
    repeat {
      let end = min(start + SealedFileFormat.messageBytes, plain.count)
      let count = filled + end - start + SealingStream.overhead
      stream.seal(
        UnsafeRawBufferPointer(rebasing: plain[start..<end]),
        into: UnsafeMutableRawBufferPointer(rebasing: sealed[filled..<count]), associated: associated,
        isFinal: end == plain.count)
      try file.write(UnsafeRawBufferPointer(rebasing: sealed[..<count]), at: offset)
      offset += count
      (start, filled) = (end, 0)
    } while start < plain.count
  }

  /// Flushes the file to the disk.
  func synchronize() throws(SealedFileError) {
    do {
      try file.synchronize()
    } catch {
      throw .writing(path, error)
    }
  }
}
