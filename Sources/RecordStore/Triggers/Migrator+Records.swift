import CipherSQL
import SchemaModel

extension Migrator {
  /// Returns the migrator for the tables of records without an outbox, such as those of a server: FieldVault's own
  /// schema first, then the others. Derives the triggers again.
  /// - Parameter didRename: called after each file that has renamed columns, inside its transaction.
  package static func records(
    of schemas: [Schema],
    didRename: @escaping @Sendable (RenamedColumns, WriteConnection) throws -> Void = { _, _ in }
  ) -> Migrator {
    SchemaRules.checking(
      Migrator(
        schemas: [CoreSchema.schema] + schemas.filter { $0.name != CoreSchema.schema.name },
        willApply: { try DerivedTriggers.drop(in: $0) },
        didApply: { connection, file in
          let renames = try RenamedColumns(of: file, on: connection)
          try AddedColumns.follow(file, renames, on: connection)
          if !renames.names.isEmpty { try didRename(renames, connection) }
          try renames.follow(on: connection)
        }, derive: { connection, _ in try DerivedTriggers.create(in: connection) }))
  }
}
