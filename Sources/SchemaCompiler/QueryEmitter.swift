import CipherSQL

/// Writes a typed function for each named query.
struct QueryEmitter {
  let model: Model

  init(_ model: Model) { self.model = model }

  func text(for queries: [TypedQuery], path: String, schema: String) -> String {
    var code = CodeWriter()
    code.head(from: schema + "/" + path)
    code.block("extension \(SwiftNames.type(schema))Queries") { code in
      for (index, query) in queries.enumerated() {
        if index > 0 { code.line() }
        if let row = rowType(of: query) {
          self.row(row, query, &code)
          code.line()
        }
        function(query, &code)
      }
    }
    return code.text
  }

  /// The structure for the rows, when a row is neither one value nor an entity.
  private func rowType(of query: TypedQuery) -> String? {
    guard query.results.count > 1, query.entity == nil else { return nil }
    return query.query.name.prefix(1).uppercased() + query.query.name.dropFirst() + "Row"
  }

  private func row(_ name: String, _ query: TypedQuery, _ code: inout CodeWriter) {
    code.line("/// A row of ``\(query.query.name)``.")
    code.block("public struct \(name): Codable, Hashable, Sendable") { code in
      let names = SwiftNames.unique(
        query.results.map(\.name), taken: ["hashValue", "self"], ending: "Value", SwiftNames.member)
      for result in query.results {
        code.line("public let \(names[result.name, default: result.name]): \(result.type)")
      }
      code.line()
      code.block("init(from row: borrowing Row) throws(SQLError)") { code in
        for (index, result) in query.results.enumerated() {
          code.line("self.\(names[result.name, default: result.name]) = try row.decode(at: \(index))")
        }
      }
    }
  }

  private func function(_ query: TypedQuery, _ code: inout CodeWriter) {
    let element = rowType(of: query) ?? query.entity ?? query.results.first?.type ?? "Void"
    // One row at most: a value that may be NULL and a row that may be missing are the same nil.
    let result: String? =
      switch query.query.kind {
      case .exec: nil
      case .many: "[\(element)]"
      case .one: element.hasSuffix("?") ? element : element + "?"
      }
    let connection = query.isWrite ? "WriteConnection" : "Connection"
    let names = SwiftNames.unique(query.parameters.map(\.name), taken: ["self"], ending: "Value", SwiftNames.member)
    // The body has variables of its own; a parameter of their name keeps its label.
    func local(_ name: String) -> String { ["db", "rows"].contains(name) ? name + "Value" : name }
    let parameters =
      ["_ db: \(connection)"]
      + query.parameters.map { parameter in
        let name = names[parameter.name, default: parameter.name]
        return "\(name == local(name) ? name : name + " " + local(name)): \(parameter.type)"
      }
    code.documentation(query.query.documentation ?? "The query `\(query.query.name)`.")
    let arrow = result.map { " -> " + $0 } ?? ""
    if query.query.kind == .exec { code.line("/// - Returns: The number of changed rows.") }
    let returned = query.query.kind == .exec ? " -> Int" : arrow
    if query.query.kind == .exec { code.line("@discardableResult") }
    code.block(
      "public static func \(SwiftNames.escaped(query.query.name))(\(parameters.joined(separator: ", "))) throws\(returned)"
    ) {
      code in
      code.block("try db.withStatement(sql_\(query.query.name))") { code in
        for (index, parameter) in query.parameters.enumerated() {
          code.line("try $0.bind(\(local(names[parameter.name, default: parameter.name])), at: \(index + 1))")
        }
        body(query, element, &code)
      }
    }
    code.line()
    code.line("private static let sql_\(query.query.name): StaticString = \(SchemaEmitter.rawLiteral(query.sql))")
  }

  private func body(_ query: TypedQuery, _ element: String, _ code: inout CodeWriter) {
    let decode: String
    if rowType(of: query) != nil {
      decode = "try \(element)(from: $0.row)"
    } else if query.entity != nil {
      decode = "try \(element)(from: $0.row, at: 0)"
    } else {
      decode = "try $0.row.decode(\(element.hasSuffix("?") ? "Optional<\(element.dropLast())>" : element).self, at: 0)"
    }
    switch query.query.kind {
    case .exec:
      code.line("try $0.run()")
      code.line("return db.changedRowCount")
    case .one:
      code.line("return try $0.step() ? \(decode) : nil")
    case .many:
      code.line("var rows: [\(element)] = []")
      code.line("while try $0.step() { rows.append(\(decode)) }")
      code.line("return rows")
    }
  }
}
