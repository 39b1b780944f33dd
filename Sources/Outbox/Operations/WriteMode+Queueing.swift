import CipherSQL
import RecordStore
import SchemaModel

extension WriteMode {
  /// Inserts many records of an entity. One statement at the end queues them.
  package static func queueingAtOnce<Result>(
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
}
