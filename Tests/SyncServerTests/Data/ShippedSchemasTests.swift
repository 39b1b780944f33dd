import CipherSQL
import Foundation
import ShippedSchemas
import TestSupport
import Testing

@Suite struct ShippedSchemasTests {
  @Test("The program carries the SQL files of the schemas unchanged, in the order in which they are applied")
  func carriedSQL() throws {
    #expect(Schema.shipped.map(\.name) == ["restoration", "range", "receipts"])
    for schema in Schema.shipped {
      let folder = try Schema.load(folder: packagePath("Schema/\(schema.name)"), name: schema.name)
      #expect(schema.migrations.map(\.fileName) == folder.migrations.map(\.fileName))
      #expect(schema.migrations.map(\.sql) == folder.migrations.map(\.sql))
    }
  }
}
