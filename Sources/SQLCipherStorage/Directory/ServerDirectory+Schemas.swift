import CipherSQL
import SchemaModel
import ServerStorage

extension ServerDirectory {
  /// Adds schemas to the served ones, and returns all. Without any named schema, all schemas of the program are
  /// served.
  /// - Parameter shipped: the schemas of the program.
  /// - Throws: ``ServerError`` with `schemas` if one is missing, or comes from another folder than before.
  public func schemas(
    adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]
  ) throws -> [Schema] {
    let known = try database.write { connection in
      let isFirst = try connection.fetchOne("SELECT count(*) FROM ServedSchema", as: Int.self) == 0
      let usual = shipped.map { SchemaSource(name: $0.name, folder: nil) }
      for source in isFirst && new.isEmpty ? usual : new.map(\.source) {
        try connection.execute(
          "INSERT INTO ServedSchema (name, folder) VALUES (\(source.name), \(source.folder.sqlArgument)) ON CONFLICT DO NOTHING"
        )
      }
      return try connection.fetchRows(
        "SELECT name, folder FROM ServedSchema ORDER BY position", as: String.self, Optional<String>.self)
    }
    return try known.map { name, folder in
      if let named = new.first(where: { $0.source.name == name }) {
        guard named.source.folder == folder else {
          throw ServerError(
            .schemas, "the schema \(name) is served from \(folder ?? "the program itself")",
            hint: "leave it out of --schema, or give the new one another name")
        }
        return named.schema
      }
      if let folder { return try Schema.load(folder: folder, name: name) }
      guard let schema = shipped.first(where: { $0.name == name }) else {
        throw ServerError(.schemas, "this program does not carry the schema \(name)", hint: "use a newer program")
      }
      return schema
    }
  }
}
