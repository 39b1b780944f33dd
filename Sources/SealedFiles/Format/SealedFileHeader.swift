/// The first bytes of an encrypted file. They are no secret, and every message is bound to them.
struct SealedFileHeader: Equatable {
  static let byteCount = 32
  private static let mark = Array("FVsealed".utf8)
  private static let version: UInt8 = 1

  let bytes: [UInt8]

  /// The only header that a file of this identity has.
  init(_ identity: SealedFileIdentity) {
    bytes =
      Self.mark + [Self.version, identity.variant.rawValue] + [UInt8](repeating: 0, count: 6) + identity.uuidBytes
  }

  /// Compares what stands at the beginning of a file.
  func check(_ found: [UInt8], path: String) throws(SealedFileError) {
    guard found != bytes else { return }
    guard found.count == Self.byteCount else {
      throw .content(.truncated, path, "is cut short: not even its beginning is there")
    }
    guard found.starts(with: Self.mark) else {
      throw .content(.notSealed, path, "is not an encrypted file, or its first bytes are damaged")
    }
    guard found[8] == Self.version else {
      throw found[8] > Self.version
        ? .content(.newerFormat, path, "is of format \(found[8]), which this program does not know")
        : .content(.notSealed, path, "is not an encrypted file, or its first bytes are damaged")
    }
    throw .content(.otherContent, path, "is the file of another content")
  }

  /// What every message of a segment is bound to: the header, the number of the segment, whether it is the last one.
  func associatedData(segment: Int, isLast: Bool) -> [UInt8] {
    bytes + (0..<8).map { UInt8(truncatingIfNeeded: segment >> ($0 * 8)) } + [isLast ? 1 : 0]
  }
}
