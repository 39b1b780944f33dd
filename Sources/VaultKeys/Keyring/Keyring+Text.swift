import Platform

extension Keyring {
  /// Returns the file: canonical JSON, in which the value determines every byte.
  public func serialized() -> [UInt8] {
    let text = authenticatedText + "  \"mac\": \"\(Base64.text(mac))\",\n"
    let content = Array(text.utf8)
    return content + Array(Keyring.checksumLine(Digest.sha256Hex(content[...])).utf8)
  }

  /// Returns the end of the file: the checksum of all bytes before it.
  static func checksumLine(_ checksum: String) -> String {
    "  \"checksum\": \"\(checksum)\"\n}\n"
  }

  /// The text up to the line of the MAC, which the MAC covers.
  var authenticatedText: String {
    """
    {
      "format": "fieldvault-keyring",
      "version": \(Keyring.version),
      "vaultId": "\(vaultID)",
      "generation": {
        "number": \(generation.number),
        "nonce": "\(Base64.text(generation.wrappedDatabaseKey.nonce))",
        "wrappedDatabaseKey": "\(Base64.text(generation.wrappedDatabaseKey.ciphertext))"
      },
      "slots": [
    \(slots.map(\.text).joined(separator: ",\n"))
      ],

    """
  }
}

extension KeySlot {
  fileprivate var text: String {
    """
        {
          "id": "\(id)",
          "kind": "\(kind.rawValue)",
          "label": "\(KeySlot.escaped(label))",
          "createdAt": "\(createdAt)",
          "parameters": {\(derivation.map(KeySlot.text) ?? "")},
          "salt": "\(Base64.text(salt))",
          "nonce": "\(Base64.text(wrappedRootKey.nonce))",
          "wrappedRootKey": "\(Base64.text(wrappedRootKey.ciphertext))",
          "keyCheck": "\(Base64.text(keyCheck))"
        }
    """
  }

  private static func text(_ derivation: KeyDerivation) -> String {
    "\"opsLimit\": \(derivation.opsLimit), \"memLimitBytes\": \(derivation.memLimitBytes)"
  }

  /// Escapes a label. Labels contain no control characters, so two escapes suffice.
  private static func escaped(_ label: String) -> String {
    var text = String.UnicodeScalarView()
    for scalar in label.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { text.append("\\") }
      text.append(scalar)
    }
    return String(text)
  }
}
