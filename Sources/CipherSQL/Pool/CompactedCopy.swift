import CSQLCipher
import Platform

/// Copies a database without its free pages.
package enum CompactedCopy {
  /// Writes a copy under the same key to a new file with mode 0600, makes it durable, reads it again and compares it with the
  /// original. The caller makes its name durable, and removes the file after an error. No process may write to the original meanwhile.
  ///
  /// `VACUUM` in place would build the copy in memory, because temporary storage is in memory, and write it to the log then.
  /// - Returns: the problem of the copy, or `nil`.
  /// - Throws: ``SQLError`` with `damaged` or `notADatabase` for an original that cannot be read, or with `diskFull`; `FileError`.
  package static func make(of source: String, to target: String, key: any EncryptionKey) throws -> String? {
    // The pages go through once, so that a large cache would only be memory.
    var configuration = Configuration()
    configuration.pageCacheBytes = 2 << 20
    let original = try Connection(path: source, key: key, configuration: configuration, isToExist: true)
    defer { original.close() }
    if let problem = try original.problems(found: .pages, limit: 1).first { throw SQLError(.damaged, problem) }
    // SQLite accepts an empty file as the target.
    try Files.makeFile(target)
    try original.vacuum(into: target)
    try Files.syncFile(target)
    return try original.problem(withCopyAt: target, key: key, isCompacted: true)
  }
}

extension Connection {
  fileprivate final func vacuum(into target: String) throws(SQLError) {
    // VACUUM creates each object of the database and changes the list of objects, which the authorizer refuses.
    sqlite3_set_authorizer(handle, nil, nil)
    defer { authorizer.install(on: handle) }
    try pragma("VACUUM INTO '\(target.replacingQuotes)'")
  }
}
