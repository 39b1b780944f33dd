import VaultKeys

/// The first bytes of an encrypted file. They are not secret.
///
/// | bytes | |
/// |---|---|
/// | 8 | `FVsealed` |
/// | 1 | the version, 1 |
/// | 1 | the variant |
/// | 6 | zero |
/// | 16 | the UUID of the content |
/// | 8 | the length of the content, the lowest byte first; every bit set until the file is finished |
struct SealedFileHeader {
  static let byteCount = 40
  /// The offset of the length. The bytes before it are the associated data of every message. The length is compared
  /// with the size of the file, and the size with the segment that is marked as the last.
  static let lengthOffset = 32
  static let mark = Array("FVsealed".utf8)
  private static let version: UInt8 = 1
  private static let unfinished = [UInt8](repeating: 0xff, count: 8)

  private let fixed: [UInt8]

  /// The header of the files of an identity.
  init(_ identity: SealedFileIdentity) {
    let kind = [Self.version, identity.variant.rawValue]
    fixed = Self.mark + kind + [UInt8](repeating: 0, count: 6) + identity.uuidBytes
  }

  /// The bytes of a file that is being written, or that is finished.
  func bytes(length: Int?) -> [UInt8] { fixed + (length.map(Self.bytes) ?? Self.unfinished) }

  /// Checks the header of a file.
  /// - Returns: the length of the content; `nil` if the file was not finished.
  func length(in found: [UInt8], path: String) throws(SealedFileError) -> UInt64? {
    guard found.count == Self.byteCount else {
      throw .content(.truncated, path, "is truncated: its header is incomplete")
    }
    guard found.starts(with: Self.mark), found[8] >= Self.version else {
      throw .content(.notSealed, path, "is not an encrypted file, or its header is damaged")
    }
    guard found[8] == Self.version else {
      throw .content(.newerFormat, path, "has format \(found[8]), which this program does not support")
    }
    guard found.starts(with: fixed) else { throw .content(.otherContent, path, "belongs to another content") }
    return Self.statedLength(in: found)
  }

  /// The length that a header of any content states; `nil` if the file was not finished.
  static func statedLength(in found: [UInt8]) -> UInt64? {
    let length = found[lengthOffset...]
    if length.elementsEqual(unfinished) { return nil }
    return length.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Returns the associated data of the messages of a segment: the header up to the length, the number of the
  /// segment, and whether it is the last one.
  func associatedData(segment: Int, isLast: Bool) -> [UInt8] { fixed + Self.bytes(segment) + [isLast ? 1 : 0] }

  private static func bytes(_ number: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
