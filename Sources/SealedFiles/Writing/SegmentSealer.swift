import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Encrypts segments to their places in a file.
///
/// `@unchecked Sendable` holds because ``SealingLine`` lets one thread at a time in.
final class SegmentSealer: @unchecked Sendable {
  let path: String
  private let file: Descriptor
  private let key: SealingKey
  private let identity: SealedFileIdentity
  private let header: SealedFileHeader
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: SealedFileFormat.sealedSegmentBytes, alignment: 64)

  /// Takes over a file that is open for writing, at whose beginning the header stands.
  init(_ file: consuming Descriptor, path: String, key: SealingKey, identity: SealedFileIdentity) {
    self.file = file
    (self.path, self.key, self.identity) = (path, key, identity)
    header = SealedFileHeader(identity)
  }

  deinit { sealed.deallocate() }

  /// Writes the beginning of the file.
  /// - Parameter length: how long the content is; nil as long as more may come.
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
    sealed.copyBytes(from: stream.header)
    var end = SealingStream.headerCount
    header.associatedData(segment: segment, isLast: isLast).withUnsafeBytes { associated in
      var start = 0
      repeat {
        let count = min(plain.count - start, SealedFileFormat.messageBytes)
        let message = UnsafeRawBufferPointer(rebasing: plain[start..<start + count])
        start += count
        let target = UnsafeMutableRawBufferPointer(rebasing: sealed[end..<end + count + SealingStream.overhead])
        stream.seal(message, into: target, associated: associated, isFinal: start == plain.count)
        end += target.count
      } while start < plain.count
    }
    do {
      try file.write(
        UnsafeRawBufferPointer(rebasing: sealed[..<end]), at: SealedFileFormat.offset(ofSegment: segment))
    } catch {
      throw .writing(path, error)
    }
  }

  /// Brings the file to the disk itself.
  func synchronize() throws(SealedFileError) {
    do {
      try file.synchronize()
    } catch {
      throw .writing(path, error)
    }
  }
}
