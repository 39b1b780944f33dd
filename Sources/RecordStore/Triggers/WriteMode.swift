import CipherSQL

/// The author of a write, as the derived triggers see it: the word that `char()` returns on the connection. It is valid
/// during one closure. It is not part of the database and SQL cannot set it, so it never outlives the write.
package enum WriteMode: Sendable {
  case user, `import`, sync, purge

  /// Stores versions from the server unchanged.
  package static func sync<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.sync.run(on: connection, body)
  }

  /// Removes rows instead of marking them.
  package static func purge<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.purge.run(on: connection, body)
  }

  /// Performs writes as those of a user: stamped, queued and with cascades.
  package static func user<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.user.run(on: connection, body)
  }

  /// The condition of a trigger for writes by a user. Without a mode, as in the sqlcipher shell, a user writes.
  package static let isByUser = "(char() = '' OR char() = 'import')"
  /// The same condition without imports.
  package static let isTyped = "char() = ''"
  /// The condition of a trigger for writes that do not purge rows.
  static let isNoPurge = "char() <> 'purge'"

  private var word: StaticString? {
    switch self {
    case .user: nil
    case .import: "import"
    case .sync: "sync"
    case .purge: "purge"
    }
  }

  /// Runs a body whose writes have this author.
  package func run<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try connection.withContext(word, body)
  }
}
