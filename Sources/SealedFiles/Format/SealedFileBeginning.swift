import VaultKeys

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What the first bytes of a file say it is, before any key is asked for.
package enum SealedFileBeginning: Sendable, Equatable {
  /// There is no file, or it is empty.
  case nothing
  /// An encrypted file that its writer has not finished.
  case unfinished
  /// An encrypted file whose writer has finished it; not all of it need be there.
  case finished
  /// Something else.
  case notSealed

  /// What every encrypted file begins with.
  package static let mark = SealedFileHeader.mark

  /// Whether a file that was finished is there to its end, as its size tells; what is in it, its key tells.
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

  /// How many bytes tell it.
  package static let byteCount = SealedFileHeader.byteCount

  /// Reads the first bytes of a file or of what is on its way.
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
