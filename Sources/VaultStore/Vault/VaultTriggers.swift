import CipherSQL
import RecordStore
import SchemaModel

/// The derived triggers of a vault: those of its tables, of the outbox, of the attachments and of the routes.
enum VaultTriggers {
  private static let additions = DerivedTriggers.Additions(
    ofEntity: { entity, entities in OutboxTriggers(entity, in: entities)?.statements ?? [] },
    ofAll: { entities in AttachmentTriggers(entities)?.statements ?? [] },
    afterwards: { entities, connection in
      try RouteTriggers.replace(for: entities, in: connection)
      for entity in entities.all {
        if let outbox = OutboxTriggers(entity, in: entities) { try outbox.queueMissing(on: connection) }
      }
      if let attachments = AttachmentTriggers(entities) { try attachments.addMissing(on: connection) }
    })

  /// Creates the triggers for the current tables, queues the records that a migration wrote, and updates full-text
  /// search.
  static func create(in connection: WriteConnection) throws {
    try DerivedTriggers.create(in: connection, adding: additions)
  }

  /// Returns the text of all triggers and indexes, in a stable order.
  static func statements(for entities: Entities) -> [String] {
    DerivedTriggers.statements(for: entities, adding: additions)
  }
}
