import Platform

extension KeySlot {
  /// Reads one slot of the file.
  init(reading reader: inout CanonicalReader) throws(KeyError) {
    try reader.expect("    {\n      \"id\": ", as: "id")
    id = try reader.string("id", where: KeySlot.isWellFormed)
    try reader.expect(",\n      \"kind\": ", as: "kind")
    guard let kind = Kind(rawValue: try reader.string("kind", where: { _ in true })) else {
      throw .damaged("slot \(id) has an unknown kind")
    }
    self.kind = kind
    try reader.expect(",\n      \"label\": ", as: "label")
    label = try reader.string("label", where: Label.isAcceptable)
    try reader.expect(",\n      \"createdAt\": ", as: "createdAt")
    createdAt = try reader.string("createdAt", where: { TimestampText.isCanonical($0) })
    try reader.expect(",\n      \"parameters\": {", as: "parameters")
    derivation = kind == .passphrase ? try KeySlot.derivation(in: &reader) : nil
    try reader.expect("},\n      \"salt\": ", as: "salt")
    salt = try reader.base64("salt", count: KeySlot.saltCount)
    try reader.expect(",\n      \"nonce\": ", as: "nonce")
    let nonce = try reader.base64("nonce", count: SealedKey.nonceCount)
    try reader.expect(",\n      \"wrappedRootKey\": ", as: "wrappedRootKey")
    let ciphertext = try reader.base64("wrappedRootKey", count: SealedKey.ciphertextCount)
    wrappedRootKey = SealedKey(nonce: nonce, ciphertext: ciphertext)
    try reader.expect(",\n      \"keyCheck\": ", as: "keyCheck")
    keyCheck = try reader.base64("keyCheck", count: KeySlot.keyCheckCount)
    try reader.expect("\n    }", as: "slots")
  }

  private static func derivation(in reader: inout CanonicalReader) throws(KeyError) -> KeyDerivation {
    try reader.expect("\"opsLimit\": ", as: "opsLimit")
    let opsLimit = try reader.number("opsLimit")
    try reader.expect(", \"memLimitBytes\": ", as: "memLimitBytes")
    return try KeyDerivation(opsLimit: opsLimit, memLimitBytes: try reader.number("memLimitBytes"))
  }
}
