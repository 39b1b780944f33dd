import CipherSQL
import SchemaModel

extension Migrator {
  /// Returns the migrator for the tables of records without an outbox, such as those of a server: FieldVault's own
  /// schema first, then the others. Derives the triggers again.
  package static func records(of schemas: [Schema]) -> Migrator {
    SchemaRules.checking(
      Migrator(
        schemas: [CoreSchema.schema] + schemas.filter { $0.name != CoreSchema.schema.name },
        willApply: { try DerivedTriggers.drop(in: $0) },
        didApply: { connection, file in
          try AddedColumns.follow(file, on: connection)
          try DerivedTriggers.create(in: connection)
        }))
  }
}
