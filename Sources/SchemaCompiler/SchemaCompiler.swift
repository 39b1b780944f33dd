import CipherSQL

/// Compiles folders of SQL files into Swift: applies them to a database in memory, reads the resulting schema, and
/// writes a type for each table and view and a function for each named query.
///
/// The same input produces the same text, byte for byte.
public struct SchemaCompiler {
  /// A folder of SQL files under the name of its schema. Its sub-folder `queries` holds named queries.
  public struct Source: Sendable {
    /// The name of the schema, such as `restoration`.
    public let name: String
    /// The path of the folder.
    public let folder: String

    /// Creates a source. ``SchemaCompiler/compile()`` reads the folder.
    public init(name: String, folder: String) { (self.name, self.folder) = (name, folder) }
  }

  /// A file of Swift.
  public struct Output: Sendable, Hashable {
    /// The name of the file, without a folder.
    public let name: String
    /// The whole Swift source.
    public let text: String
  }

  let sources: [Source]
  let emitted: String

  /// - Parameters:
  ///   - sources: the schemas in the order in which they are applied.
  ///   - emitted: the name of the schema to compile. It may reference the others.
  public init(sources: [Source], emitting emitted: String) {
    (self.sources, self.emitted) = (sources, emitted)
  }

  /// Compiles the schemas.
  /// - Returns: a Swift file for each SQL file of the emitted schema with its tables and views, a Swift file for each
  ///   file of named queries, and a Swift file with the SQL.
  /// - Throws: ``CompilerProblems`` with the place of each mistake.
  public func compile() throws -> [Output] {
    let schemas = try sources.map(Self.load)
    guard let index = sources.firstIndex(where: { $0.name == emitted }) else {
      throw CompilerProblems([
        CompilerProblem(path: emitted, line: 1, message: "no schema has this name")
      ])
    }
    let (dryRun, origins) = try runMigrations(schemas)
    let (catalog, types) = try dryRun.database.read { connection in
      (try Catalog.read(from: connection), try Self.registeredTypes(connection))
    }
    let model = Model(catalog: catalog, registeredTypes: types, origins: origins, emitted: emitted)
    var outputs = schemas[index].migrations.map { file in
      Output(name: Self.swiftName(file.fileName), text: TableEmitter(model).text(for: file, of: schemas[index]))
    }
    outputs.append(Output(name: "Schema.swift", text: SchemaEmitter.text(for: schemas[index])))
    outputs += try queries(of: sources[index], dryRun.database, model)
    return outputs
  }

  /// Embeds the SQL of schemas in Swift, without types for their tables and queries.
  /// - Returns: a file for each schema.
  /// - Throws: ``CompilerProblems`` with the place of a file that cannot be read.
  public static func embed(_ sources: [Source]) throws -> [Output] {
    try sources.map { source in
      Output(
        name: "Schema_\(source.name).swift", text: SchemaEmitter.text(for: try load(source), isEmbedded: true))
    }
  }

  private static func load(_ source: Source) throws -> Schema {
    do {
      return try Schema.load(folder: source.folder, name: source.name)
    } catch let error as SQLError {
      throw problem(in: source.folder, error)
    }
  }

  /// Returns the names of the files that ``compile()`` writes for a folder, without reading any file.
  public static func outputNames(sqlFiles: [String], queryFiles: [String]) -> [String] {
    sqlFiles.map(swiftName) + ["Schema.swift"] + queryFiles.map { "Queries_" + swiftName($0) }
  }

  static func swiftName(_ file: String) -> String { String(file.dropLast(4)) + ".swift" }

  private func runMigrations(_ schemas: [Schema]) throws -> (DryRun, [String: String]) {
    var origins: [String: String] = [:]
    do {
      let dryRun = try DryRun(schemas) { schema, file, connection in
        let names = try connection.fetch(
          "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')", as: String.self)
        for name in names where origins[name] == nil { origins[name] = schema.name + "/" + file.fileName }
      }
      return (dryRun, origins)
    } catch let problem as SchemaProblem {
      let folder = sources.first { $0.name == problem.schema }?.folder ?? problem.schema
      throw CompilerProblems([
        CompilerProblem(path: folder + "/" + problem.file.fileName, line: problem.line, message: problem.message)
      ])
    }
  }

  private static func registeredTypes(_ connection: Connection) throws -> [String: String] {
    guard
      try connection.fetchOne(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'SyncedEntity'", as: Int.self) == 1
    else { return [:] }
    let rows = try connection.fetchRows(
      "SELECT tableName, entityType FROM SyncedEntity", as: String.self, String.self)
    return Dictionary(rows) { first, _ in first }
  }

  private func queries(of source: Source, _ database: Database, _ model: Model) throws -> [Output] {
    var outputs: [Output] = []
    var problems: [CompilerProblem] = []
    for name in try Self.queryFiles(in: source.folder) {
      let path = source.folder + "/queries/" + name
      do {
        let text = try Self.text(of: path)
        let parsed = try NamedQueryFile(text: text, path: path).queries
        let typed = parsed.compactMap { query in
          do {
            return try database.read { try QueryTyping(query, path: path, model: model).typed($0) }
          } catch let problem as CompilerProblem {
            problems.append(problem)
          } catch {
            problems.append(CompilerProblem(path: path, line: query.line, message: "\(error)"))
          }
          return nil
        }
        outputs.append(
          Output(
            name: "Queries_" + Self.swiftName(name),
            text: QueryEmitter(model).text(for: typed, path: "queries/" + name, schema: source.name)))
      } catch let problem as CompilerProblem {
        problems.append(problem)
      }
    }
    guard problems.isEmpty else { throw CompilerProblems(problems) }
    return outputs
  }

  /// Returns the names of the named query files of a schema; empty without such a folder.
  public static func queryFiles(in folder: String) throws -> [String] {
    guard FileSystem.isFolder(folder + "/queries") else { return [] }
    return try Schema.sqlFiles(in: folder + "/queries")
  }

  private static func text(of path: String) throws -> String {
    do {
      return try Schema.text(of: path)
    } catch let error as SQLError {
      throw problem(in: path, error).problems[0]
    }
  }

  // The loader's messages begin with the path of the file, where one is to blame.
  private static func problem(in folder: String, _ error: SQLError) -> CompilerProblems {
    let text = error.description
    guard let end = text.firstRange(of: ".sql:")?.upperBound else {
      return CompilerProblems([CompilerProblem(path: folder, line: 1, message: text)])
    }
    let path = String(text[..<text.index(before: end)])
    let rest = text[end...]
    let digits = rest.prefix { $0.isNumber }
    let line = Int(digits) ?? 1
    let message = rest.dropFirst(digits.isEmpty ? 0 : digits.count + 1).drop { $0 == " " || $0 == ":" }
    return CompilerProblems([CompilerProblem(path: path, line: line, message: String(message))])
  }
}
