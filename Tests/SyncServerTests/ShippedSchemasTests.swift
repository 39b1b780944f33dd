import CipherSQL
import Foundation
import ShippedSchemas
import Testing

@Suite struct ShippedSchemasTests {
  @Test("The program carries the SQL files of the schemas unchanged, in the order in which they are applied")
  func carriedSQL() throws {
    #expect(Schema.shipped.map(\.name) == ["restoration", "range", "receipts"])
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    for schema in Schema.shipped {
      let folder = try Schema.load(folder: package.appending(path: "Schema/\(schema.name)").path, name: schema.name)
      #expect(schema.migrations.map(\.fileName) == folder.migrations.map(\.fileName))
      #expect(schema.migrations.map(\.sql) == folder.migrations.map(\.sql))
    }
  }
}
