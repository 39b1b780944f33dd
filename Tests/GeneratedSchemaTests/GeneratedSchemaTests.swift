import CipherSQL
import GeneratedSchemas
import RecordStore
import TestSupport
import Testing
import VaultStore

@Suite("Schemas that are generated from a number")
struct GeneratedSchemaTests {
  private static let all = (0..<GeneratedSchema.count).map(GeneratedSchema.init)

  @Test("Equal numbers give equal SQL, and different numbers give different SQL")
  func equalNumbers() {
    for schema in Self.all { #expect(GeneratedSchema(number: schema.number).sql == schema.sql) }
    #expect(Set(Self.all.map { $0.sql.drop { $0 != "\n" } }).count == GeneratedSchema.count)
  }

  @Test("A device and a server accept each schema")
  func eachLoads() throws {
    for schema in Self.all {
      do {
        let device = try Database.inMemory()
        try Vault.migrator(for: [schema.schema]).apply(to: device, isDraft: true)
        let server = try Database.inMemory()
        try Migrator.records(of: [schema.schema]).apply(to: server, isDraft: true)
      } catch {
        Issue.record("schema \(schema.number): \(error)")
      }
    }
  }

  @Test("The tables have the columns that users write")
  func columnsOfKinds() throws {
    for schema in Self.all {
      let database = try Database.inMemory()
      try Migrator.records(of: [schema.schema]).apply(to: database, isDraft: true)
      try database.read { connection in
        let catalog = try Catalog.read(from: connection)
        for kind in schema.kinds {
          let table = try #require(catalog.table(kind.table))
          let names = Set(table.columns.map(\.name))
          let written =
            [kind.key, kind.marker] + kind.others.map(\.column) + kind.required.map(\.column)
            + kind.references.flatMap(\.columns) + kind.swapped.flatMap { $0 } + kind.renewed.map(\.column)
          #expect(names.isSuperset(of: written), "schema \(schema.number), \(kind.table)")
        }
      }
    }
  }

  @Test("Each feature occurs in at least 5 schemas", arguments: SchemaFeature.allCases)
  func coverage(of feature: SchemaFeature) {
    let count = Self.all.count { $0.features.contains(feature) }
    #expect(count >= 5, "\(feature.rawValue) occurs in \(count)")
  }
}
