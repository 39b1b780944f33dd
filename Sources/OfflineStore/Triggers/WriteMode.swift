import CipherSQL

/// The author of a write, as the derived triggers see it: the word that `char()` returns on the connection. It is
/// valid during one closure. It is not part of the database and SQL cannot set it, so no write can leave it behind.
package enum WriteMode: Sendable {
  case person, `import`, sync, purge

  /// Stores versions from the server unchanged.
  package static func sync<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.sync.run(on: connection, body)
  }

  /// Removes rows instead of marking them.
  package static func purge<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.purge.run(on: connection, body)
  }

  /// Performs writes as those of a user: stamped, queued and with cascades.
  static func person<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.person.run(on: connection, body)
  }

  /// Inserts many records of an entity. One statement at the end queues them.
  static func queueingAtOnce<Result>(
    _ entity: Entity, in entities: Entities, on connection: WriteConnection, _ body: () throws -> Result
  ) throws -> Result {
    guard let outbox = OutboxTriggers(entity, in: entities) else { return try body() }
    let greatest: SQL = "SELECT coalesce(max(\(identifier: entity.key)), 0) FROM \(identifier: entity.table.name)"
    let last = try connection.fetchOne(greatest, as: Int64.self) ?? 0
    return try WriteMode.import.run(on: connection) {
      let result = try body()
      try outbox.queueMissing(after: last, on: connection)
      return result
    }
  }

  /// The condition of a trigger for writes by a user. Without a mode, as in the sqlcipher shell, a user writes.
  static let isByUser = "(char() = '' OR char() = 'import')"
  /// The same condition without imports.
  static let isTyped = "char() = ''"
  /// The condition of a trigger for writes that do not purge rows.
  static let isNoPurge = "char() <> 'purge'"

  private var word: StaticString? {
    switch self {
    case .person: nil
    case .import: "import"
    case .sync: "sync"
    case .purge: "purge"
    }
  }

  private func run<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try connection.withContext(word, body)
  }
}
