extension KeyError {
  /// The keyring fails its integrity check.
  static func damaged(_ what: String) -> KeyError {
    KeyError(
      .damaged, "the keyring is damaged: \(what)",
      hint: "put keyring.json back from a backup of this vault; do not edit it by hand")
  }

  /// A slot that a caller named and that cannot be used.
  static func noSuchSlot(_ what: String) -> KeyError {
    KeyError(.noSuchSlot, what, hint: "list the slots and name one by its id")
  }

  /// Memory for a key or for Argon2id is missing.
  static func outOfMemory(_ what: String) -> KeyError {
    KeyError(.outOfMemory, "not enough memory for \(what)", hint: "close other programs and try again")
  }
}
