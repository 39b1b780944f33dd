import CipherSQL

/// Who writes, as the derived triggers see it: the word that `char()` returns on the connection. It lasts for one closure, is
/// no part of the database, and cannot be set by SQL, so that no write can leave it behind.
package enum WriteMode: Sendable {
  case person, `import`, sync, purge

  /// Writes records from the server as they are.
  package static func sync<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.sync.run(on: connection, body)
  }

  /// Removes rows instead of marking them.
  package static func purge<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.purge.run(on: connection, body)
  }

  /// Writes as a user does: stamped and queued, with dependents.
  static func person<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.person.run(on: connection, body)
  }

  /// Makes many records of an entity, which are queued by one statement at the end and not one by one.
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

  /// The condition of a trigger that a user writes. Without a word, as in the sqlcipher shell, a user does.
  static let isByUser = "(char() = '' OR char() = 'import')"
  /// The same, without an import.
  static let isTyped = "char() = ''"
  /// The condition of a trigger that rows are not purged.
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
