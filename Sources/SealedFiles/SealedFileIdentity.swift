/// One of the two files of a content.
package enum SealedFileVariant: UInt8, Sendable, CaseIterable {
  /// The full content.
  case full = 1
  /// A small picture of the content.
  case thumbnail = 2
}

/// The identity that an encrypted file is bound to. The file opens under no other identity.
package struct SealedFileIdentity: Sendable, Hashable {
  /// The UUID of the content, in lower case.
  package let contentUuid: String
  /// The variant of the content.
  package let variant: SealedFileVariant
  /// The 16 bytes of the UUID.
  let uuidBytes: [UInt8]

  /// Creates the identity of a file of a content.
  /// - Parameter contentUuid: a UUID in either case.
  /// - Throws: ``SealedFileError`` `badIdentity`.
  package init(contentUuid: String, variant: SealedFileVariant) throws(SealedFileError) {
    guard let bytes = Self.bytes(ofUUID: contentUuid) else {
      throw SealedFileError(
        .badIdentity, "the name of a content is not a UUID", hint: "use a UUID, 32 digits with four hyphens")
    }
    (self.contentUuid, self.variant, uuidBytes) = (contentUuid.lowercased(), variant, bytes)
  }

  private static func bytes(ofUUID text: String) -> [UInt8]? {
    let characters = Array(text.utf8)
    let hyphens = [8, 13, 18, 23]
    guard characters.count == 36, hyphens.allSatisfy({ characters[$0] == UInt8(ascii: "-") }) else { return nil }
    let digits = characters.indices.filter { !hyphens.contains($0) }.map { hexValue(characters[$0]) }
    guard !digits.contains(nil) else { return nil }
    let values = digits.compactMap { $0 }
    return stride(from: 0, to: 32, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  private static func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x37
    case 0x61...0x66: digit - 0x57
    default: nil
    }
  }
}
