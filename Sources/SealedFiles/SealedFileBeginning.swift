import Platform
import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The kind of a file by its first bytes, without a key.
package enum SealedFileBeginning: Sendable, Equatable {
  /// A missing or empty file.
  case nothing
  /// An encrypted file that its writer has not finished.
  case unfinished
  /// An encrypted file that was finished. Its end may be missing.
  case finished
  /// Another kind of file.
  case notSealed

  /// The first bytes of every encrypted file.
  package static let mark = SealedFileHeader.mark

  /// Returns whether the file is complete, judged by its size. Does not authenticate the content.
  /// - Throws: ``SealedFileError`` with `unreadable`.
  package static func isWhole(_ path: String) throws(SealedFileError) -> Bool {
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW)
      let header = try file.chunk(atMost: SealedFileHeader.byteCount)
      guard header.count == SealedFileHeader.byteCount, let length = SealedFileHeader.statedLength(in: header),
        let plain = SealedFileFormat.plainSize(ofSealed: try file.size())
      else { return false }
      return length == UInt64(plain)
    } catch {
      throw .reading(path, error)
    }
  }

  /// The number of bytes that determine the kind.
  package static let byteCount = SealedFileHeader.byteCount

  /// Reads the first bytes of a file or of a transfer.
  package init(_ bytes: some Collection<UInt8>) {
    let bytes = Array(bytes.prefix(SealedFileHeader.byteCount))
    if bytes.isEmpty {
      self = .nothing
    } else if !bytes.starts(with: SealedFileHeader.mark) || bytes.count < SealedFileHeader.byteCount {
      self = .notSealed
    } else {
      self = bytes[SealedFileHeader.lengthOffset...].allSatisfy { $0 == 0xff } ? .unfinished : .finished
    }
  }

  /// Reads the first bytes of a file.
  /// - Throws: ``SealedFileError`` with `unreadable`.
  package init(ofFileAt path: String) throws(SealedFileError) {
    do throws(Descriptor.Failure) {
      let file = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW)
      self.init(try file.chunk(atMost: SealedFileHeader.byteCount))
    } catch {
      guard error.number == ENOENT else { throw .reading(path, error) }
      self = .nothing
    }
  }
}
