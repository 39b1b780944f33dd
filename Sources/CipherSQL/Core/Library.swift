import CSQLCipher

/// The linked SQLCipher: checked and initialised once per process, before the first connection.
enum Library {
  /// The oldest accepted version.
  static let minimumVersion = (4, 5, 7)

  // Runs once; every connection looks at the result.
  private static let initialisation: Result<Void, SQLError> = {
    // Fails if other code has initialised the library already. In this case statistics stay on and blocks come from
    // the C library, which costs some speed.
    _ = csqlcipher_disable_memory_statistics()
    _ = csqlcipher_keep_spare_blocks()
    let result = sqlite3_initialize()
    guard result == SQLITE_OK else { return .failure(SQLError.last(nil, result: result)) }
    return .success(())
  }()

  static func initialise() throws(SQLError) {
    try initialisation.get()
  }

  /// Refuses a library that is not SQLCipher or is too old.
  static func check(cipherVersion: String?) throws(SQLError) {
    let wanted = "\(minimumVersion.0).\(minimumVersion.1).\(minimumVersion.2)"
    guard let cipherVersion, !cipherVersion.isEmpty else {
      throw SQLError(
        .unsuitableLibrary,
        "the linked library is SQLite \(String(cString: sqlite3_libversion())) without encryption, not SQLCipher",
        hint: "link SQLCipher \(wanted) or later (Debian: libsqlcipher-dev)")
    }
    let parts = cipherVersion.prefix { $0 != " " }.split(separator: ".").map { Int($0) ?? 0 }
    let found = (parts.first ?? 0, parts.dropFirst().first ?? 0, parts.dropFirst(2).first ?? 0)
    guard found >= minimumVersion else {
      throw SQLError(
        .unsuitableLibrary, "the linked SQLCipher is \(cipherVersion), but \(wanted) or later is required",
        hint: "install a newer libsqlcipher (Debian 12 has one in bookworm-backports)")
    }
  }
}
