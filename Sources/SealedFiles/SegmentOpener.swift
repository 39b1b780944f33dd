import Platform
import VaultKeys

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Opens segments of a file in any order.
///
/// For one thread at a time.
final class SegmentOpener {
  let path: String
  private let file: Descriptor
  private let key: SealingKey
  private let identity: SealedFileIdentity
  private let header: SealedFileHeader
  private let sealed = UnsafeMutableRawBufferPointer.allocate(
    byteCount: SealedFileFormat.sealedMessageBytes, alignment: 64)

  init(_ path: String, key: SealingKey, identity: SealedFileIdentity) throws(SealedFileError) {
    let isRegular: Bool
    do throws(Descriptor.Failure) {
      // Without O_NONBLOCK a pipe of that name would be waited for.
      file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
      isRegular = try file.isRegular()
    } catch {
      throw .reading(path, error)
    }
    guard isRegular else {
      throw SealedFileError(.unreadable, "\(path): not a file", hint: "check the path")
    }
    (self.path, self.key, self.identity) = (path, key, identity)
    header = SealedFileHeader(identity)
  }

  deinit { sealed.deallocate() }

  func size() throws(SealedFileError) -> Int {
    do {
      return try file.size()
    } catch {
      throw .reading(path, error)
    }
  }

  /// The length that the header states; `nil` if the file was not finished.
  /// - Throws: ``SealedFileError`` if the header does not belong to this file.
  func length() throws(SealedFileError) -> UInt64? {
    let target = UnsafeMutableRawBufferPointer(rebasing: sealed[..<SealedFileHeader.byteCount])
    let count = try read(at: 0, into: target)
    return try header.length(in: Array(target[..<count]), path: path)
  }

  /// Opens a segment. Returns `false` if its authentication fails. Otherwise its content is in memory.
  func opens(
    _ segment: Int, plainCount: Int, isLast: Bool, into plain: UnsafeMutableRawBufferPointer
  ) throws(SealedFileError) -> Bool {
    try opens(segment, sealedAs: segment, plainCount: plainCount, isLast: isLast, into: plain)
  }

  /// Opens a segment that may be at the position of another segment.
  func opens(
    _ place: Int, sealedAs segment: Int, plainCount: Int, isLast: Bool, into plain: UnsafeMutableRawBufferPointer
  ) throws(SealedFileError) -> Bool {
    let messages = try begin(place, sealedAs: segment, plainCount: plainCount, isLast: isLast)
    guard let messages else { return false }
    var start = 0
    repeat {
      let count = messages.nextCount
      guard try messages.opensNext(UnsafeMutableRawBufferPointer(rebasing: plain[start..<start + count])) else {
        return false
      }
      start += count
    } while messages.nextCount > 0
    return true
  }

  /// Starts reading a segment. Returns `nil` if its header is invalid.
  func begin(
    _ place: Int, sealedAs segment: Int, plainCount: Int, isLast: Bool
  ) throws(SealedFileError) -> SegmentMessages? {
    let offset = SealedFileFormat.offset(ofSegment: place)
    let start = UnsafeMutableRawBufferPointer(rebasing: sealed[..<SealingStream.headerCount])
    guard try read(at: offset, into: start) == start.count else { return nil }
    let segmentKey = try key.segmentKey(segment, of: identity.variant)
    do throws(KeyError) {
      guard let stream = try OpeningStream(key: segmentKey, header: Array(start)) else { return nil }
      return SegmentMessages(
        self, stream, header.associatedData(segment: segment, isLast: isLast), offset: offset + start.count,
        plainCount: plainCount)
    } catch {
      throw .memory(error)
    }
  }

  /// Returns the next encrypted bytes, up to the end of the file. The pointer is valid until the next call.
  func sealedBytes(at offset: Int, count: Int) throws(SealedFileError) -> UnsafeRawBufferPointer {
    let target = UnsafeMutableRawBufferPointer(rebasing: sealed[..<count])
    return UnsafeRawBufferPointer(rebasing: target[..<(try read(at: offset, into: target))])
  }

  private func read(at offset: Int, into target: UnsafeMutableRawBufferPointer) throws(SealedFileError) -> Int {
    do {
      return try file.read(at: offset, into: target)
    } catch {
      throw .reading(path, error)
    }
  }
}
