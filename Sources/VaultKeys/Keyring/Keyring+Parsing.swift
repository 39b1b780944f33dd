import Platform

extension Keyring {
  /// Parses the bytes of a keyring file. Does not try any key.
  ///
  /// The checksum is compared first, so a changed bit is damage and never looks like a wrong passphrase. Only the
  /// canonical text is accepted: serialising the result gives the same bytes again.
  ///
  /// - Throws: ``KeyError`` `damaged`, `newerFormat`, or `unacceptableParameters` for Argon2id parameters that are
  ///   out of range.
  public init(parsing file: [UInt8]) throws(KeyError) {
    guard file.count <= Keyring.maximumBytes else { throw .damaged("it is larger than 1 MiB") }
    var reader = CanonicalReader(try Keyring.checkedContent(of: file))
    try reader.expect("{\n  \"format\": \"fieldvault-keyring\",\n  \"version\": ", as: "format")
    let version = try reader.number("version")
    guard version == Keyring.version else { throw Keyring.unknownVersion(version) }
    try reader.expect(",\n  \"vaultId\": ", as: "vaultId")
    vaultID = try reader.string("vaultId", where: { UUIDText.isCanonical($0) })
    try reader.expect(",\n  \"generation\": {\n    \"number\": ", as: "generation")
    generation = try Generation(reading: &reader)
    try reader.expect("\n  },\n  \"slots\": [\n", as: "slots")
    slots = try Keyring.slots(in: &reader)
    try reader.expect("\n  ],\n  \"mac\": ", as: "mac")
    mac = try reader.base64("mac", count: 32)
    try reader.expect(",\n", as: "mac")
    try reader.expectEnd()
    // The parser accepts canonical text only. This check proves it.
    guard serialized() == file else { throw .damaged("its text is not in canonical form") }
  }

  /// Returns the content before the checksum, which must match it.
  private static func checkedContent(of file: [UInt8]) throws(KeyError) -> ArraySlice<UInt8> {
    let tail = checksumLine(String(repeating: "0", count: 64)).utf8.count
    guard file.count > tail else { throw .damaged("it is truncated") }
    let content = file.dropLast(tail)
    guard file.suffix(tail).elementsEqual(checksumLine(Digest.sha256Hex(content)).utf8) else {
      throw .damaged("its content does not match its checksum")
    }
    return content
  }

  private static func unknownVersion(_ version: Int) -> KeyError {
    guard version > Keyring.version else { return .damaged("its format version \(version) does not exist") }
    return KeyError(
      .newerFormat, "the keyring has format version \(version), but this program supports version \(Self.version)",
      hint: "use a newer program; the keyring is not damaged")
  }

  private static func slots(in reader: inout CanonicalReader) throws(KeyError) -> [KeySlot] {
    var slots: [KeySlot] = []
    repeat {
      let slot = try KeySlot(reading: &reader)
      guard slots.count < maximumSlots else { throw .damaged("it has more than \(maximumSlots) slots") }
      guard !slots.contains(where: { $0.id == slot.id }) else { throw .damaged("two slots have the id \(slot.id)") }
      slots.append(slot)
    } while reader.skip(",\n")
    return slots
  }
}

extension Keyring.Generation {
  fileprivate init(reading reader: inout CanonicalReader) throws(KeyError) {
    number = try reader.number("generation.number")
    guard Self.range.contains(number) else { throw .damaged("generation.number is out of range") }
    try reader.expect(",\n    \"nonce\": ", as: "generation.nonce")
    let nonce = try reader.base64("generation.nonce", count: SealedKey.nonceCount)
    try reader.expect(",\n    \"wrappedDatabaseKey\": ", as: "generation.wrappedDatabaseKey")
    let ciphertext = try reader.base64("generation.wrappedDatabaseKey", count: SealedKey.ciphertextCount)
    wrappedDatabaseKey = SealedKey(nonce: nonce, ciphertext: ciphertext)
  }
}
