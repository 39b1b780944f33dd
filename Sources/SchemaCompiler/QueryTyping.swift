import CipherSQL

/// A query with the Swift types of its parameters and results.
struct TypedQuery {
  struct Value {
    let name: String
    let type: String
  }

  let query: NamedQuery
  /// The statement without text after its semicolon.
  let sql: String
  let parameters: [Value]
  let results: [Value]
  let isWrite: Bool
  /// The entity whose columns equal those of the results, if there is one.
  let entity: String?
}

/// Prepares a query against the migrated schema and finds its types.
struct QueryTyping {
  let query: NamedQuery
  let path: String
  let model: Model
  private let tokens: QueryTokens

  init(_ query: NamedQuery, path: String, model: Model) {
    (self.query, self.path, self.model) = (query, path, model)
    tokens = QueryTokens(query.sql)
  }

  func typed(_ connection: Connection) throws -> TypedQuery {
    let sql = tokens.statement
    do {
      return try connection.withStatement(sql) { statement in
        if query.forbidsScan { try refuseScan(sql, connection) }
        let results = try results(of: statement)
        try checkKind(results)
        return TypedQuery(
          query: query, sql: sql, parameters: try parameters(of: statement), results: results,
          isWrite: !statement.isReadOnly, entity: entity(of: statement))
      }
    } catch let error as SQLError {
      throw problem(at: error.offset ?? 0, error.message)
    }
  }

  private func checkKind(_ results: [TypedQuery.Value]) throws {
    if query.kind == .exec, !results.isEmpty {
      throw CompilerProblem(
        path: path, line: query.line, message: "\(query.name) returns rows; declare it :one or :many")
    }
    if query.kind != .exec, results.isEmpty {
      throw CompilerProblem(path: path, line: query.line, message: "\(query.name) returns no rows; declare it :exec")
    }
    var names: Set<String> = []
    for result in results where !names.insert(result.name).inserted {
      throw CompilerProblem(
        path: path, line: query.sqlLine, message: "two results are named \(result.name); rename one with AS")
    }
  }

  private func problem(at offset: Int, _ message: String) -> CompilerProblem {
    let before = Array(query.sql.utf8).prefix(offset)
    let line = query.sqlLine + before.count { $0 == 0x0a }
    let column = 1 + before.count - ((before.lastIndex(of: 0x0a) ?? -1) + 1)
    return CompilerProblem(path: path, line: line, column: column, message: message)
  }

  private func refuseScan(_ sql: String, _ connection: Connection) throws {
    var plan: [String] = []
    // The plan does not depend on the values, so the parameters stay unbound.
    try connection.withStatement("EXPLAIN QUERY PLAN " + sql) { statement in
      while try statement.step() { plan.append(try statement.row.decode(at: 3)) }
    }
    for detail in plan where detail.hasPrefix("SCAN ") && !detail.contains("USING") {
      let table = detail.dropFirst(5).prefix { $0 != " " }
      guard model.catalog.table(String(table)) != nil || tokens.alias(String(table)) != nil else { continue }
      throw CompilerProblem(
        path: path, line: query.sqlLine,
        message: "\(query.name) scans the whole table \(table); add an index or remove -- no-scan")
    }
  }

  // MARK: Parameters

  private func parameters(of statement: Statement) throws -> [TypedQuery.Value] {
    try (0..<statement.parameterCount).map { index in
      guard let name = statement.parameterName(at: index + 1), name.hasPrefix(":") else {
        throw CompilerProblem(path: path, line: query.sqlLine, message: "parameters need names, such as :projectId")
      }
      let plain = String(name.dropFirst())
      if let type = query.parameterTypes[plain] { return TypedQuery.Value(name: plain, type: type) }
      guard let type = try tokens.parameterType(name, in: model) else {
        throw problem(
          at: tokens.offset(of: name),
          "cannot infer the type of \(name); add a line -- param \(plain): Int64 (or Double, String, Date, UUID ...)"
        )
      }
      return TypedQuery.Value(name: plain, type: type)
    }
  }

  // MARK: Results

  private func results(of statement: Statement) throws -> [TypedQuery.Value] {
    try (0..<statement.columnCount).map { index in
      let name = statement.columnName(at: index)
      if let type = query.resultTypes[name] { return TypedQuery.Value(name: name, type: type) }
      if let origin = statement.columnOrigin(at: index), let table = model.catalog.table(origin.table),
        let column = table.column(origin.column)
      {
        let base = model.baseType(of: column, in: table, nested: false)
        let isNull = !column.isNotNull || tokens.isOptional(table: origin.table)
        return TypedQuery.Value(name: name, type: isNull ? base + "?" : base)
      }
      guard let type = tokens.expressionType(Int(index), in: model) else {
        throw CompilerProblem(
          path: path, line: query.sqlLine,
          message:
            "cannot infer the type of the result \(name); add a line -- result \(name): Double? (or another type)"
        )
      }
      return TypedQuery.Value(name: name, type: type)
    }
  }

  private func entity(of statement: Statement) -> String? {
    guard statement.columnCount > 0, let first = statement.columnOrigin(at: 0),
      let table = model.catalog.table(first.table), model.isEmitted(table), !tokens.isOptional(table: table.name),
      table.columns.count == Int(statement.columnCount)
    else { return nil }
    for (index, column) in table.columns.enumerated() {
      guard let origin = statement.columnOrigin(at: Int32(index)), origin == (table.name, column.name),
        statement.columnName(at: Int32(index)) == column.name
      else { return nil }
    }
    return model.typeName(of: table)
  }
}
