import CipherSQL

/// Who writes, as the derived triggers see it: the row of `WriteContext`. Back to who it was before at the end of each
/// body; when the body throws, the transaction is undone and the mode with it.
package enum WriteMode: String, Sendable {
  case person, `import`, sync, purge

  /// Writes what comes from the server, as it is.
  package static func sync<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.sync.run(on: connection, body)
  }

  /// Removes rows instead of marking them.
  package static func purge<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.purge.run(on: connection, body)
  }

  /// Writes as a person does: stamped, queued, taking along what hangs on it.
  static func person<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    try WriteMode.person.run(on: connection, body)
  }

  /// Takes everything as it comes from now on, for a database that no person types into.
  package static func alwaysSync(on connection: WriteConnection) throws {
    try connection.execute("UPDATE WriteContext SET mode = 'sync' WHERE mode <> 'sync'")
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

  private func run<Result>(on connection: WriteConnection, _ body: () throws -> Result) throws -> Result {
    let before = try connection.fetchOne("SELECT mode FROM WriteContext", as: String.self)
    try connection.execute("UPDATE WriteContext SET mode = \(rawValue)")
    let result = try body()
    try connection.execute("UPDATE WriteContext SET mode = \(before.sqlArgument)")
    return result
  }
}
