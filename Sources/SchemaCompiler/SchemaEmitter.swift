import CipherSQL

/// Embeds the SQL files in Swift, so that a program contains its migrations.
enum SchemaEmitter {
  /// - Parameter isEmbedded: whether the schema has no Swift types. Its SQL is then visible in its own module only.
  static func text(for schema: Schema, isEmbedded: Bool = false) -> String {
    let name = SwiftNames.type(schema.name)
    let access = isEmbedded ? "" : "public "
    var code = CodeWriter()
    code.head(from: "the schema \(schema.name)")
    code.line("/// The schema `\(schema.name)`: its versioned SQL files.")
    code.block("\(access)enum \(name)Schema") { code in
      code.line("/// All migrations, for `Migrator` and for opening a vault.")
      code.line("\(access)static let schema = Schema(name: \(swiftLiteral(schema.name)), migrations: [")
      code.indented { code in
        for file in schema.migrations {
          code.line(
            "MigrationFile(version: \(file.version), name: \(swiftLiteral(file.name)), sql: sql\(file.version)),")
        }
      }
      code.line("])")
      for file in schema.migrations {
        code.line()
        code.line("// \(file.fileName)")
        code.line("private static let sql\(file.version) = \(rawLiteral(file.sql))")
      }
    }
    if isEmbedded { return code.text }
    code.line()
    code.line("/// The named queries of the schema `\(schema.name)`.")
    code.line("public enum \(name)Queries {}")
    return code.text
  }

  /// Returns a multi-line literal with the unchanged text. An empty last line keeps the text's own last line break.
  /// Number signs prevent the text from ending the literal.
  static func rawLiteral(_ text: String) -> String {
    var signs = "#"
    while text.contains("\"\"\"" + signs) || text.contains("\\" + signs) { signs += "#" }
    return "\(signs)\"\"\"\n\(text)\n\"\"\"\(signs)"
  }
}
