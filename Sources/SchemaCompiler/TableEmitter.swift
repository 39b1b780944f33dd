import CipherSQL

/// Writes the Swift type of each table and view that a file creates.
struct TableEmitter {
  let model: Model

  init(_ model: Model) { self.model = model }

  func text(for file: MigrationFile, of schema: Schema) -> String {
    var code = CodeWriter()
    code.head(from: schema.name + "/" + file.fileName)
    let comments = FileComments(file.sql)
    let tables = model.tables(of: file, in: schema)
    for table in tables {
      type(of: table, documentation: comments.documentation(of: table.name), &code)
      code.line()
    }
    let emitted = Set(tables.map(\.name))
    for table in tables where table.kind == .table {
      RelationshipEmitter(model: model).emit(table, &code)
    }
    if emitted.isEmpty { code.line("// This file creates no table and no view.") }
    return code.text
  }

  private func type(of table: Catalog.Table, documentation: String?, _ code: inout CodeWriter) {
    let isTable = table.kind == .table
    let hasKey = isTable && table.hasSwiftKey
    var conformances = [hasKey ? "KeyedRecord" : isTable ? "InsertableRecord" : "Record"]
    if model.marksDeletion(table) { conformances.append("SoftDeletable") }
    conformances += ["Codable", "Hashable"]
    if identity(of: table) != nil || identifier(of: table)?.isNotNull == true { conformances.append("Identifiable") }
    code.documentation(documentation ?? "A row of the \(isTable ? "table" : "view") `\(table.name)`.")
    code.block("public struct \(model.typeName(of: table)): \(conformances.joined(separator: ", "))") { code in
      properties(of: table, &code)
      if let identity = identity(of: table) {
        code.line("/// The identity of the record.")
        code.line("public var id: \(identity.type) { self.\(identity.name) }")
        code.line()
      }
      initializer(of: table, &code)
      code.line()
      decoding(of: table, &code)
      if isTable {
        code.line()
        insertion(into: table, &code)
      }
      if hasKey {
        code.line()
        keyed(table, &code)
      }
      for key in table.uniqueKeys where isTable {
        code.line()
        finder(for: key, in: table, &code)
      }
      code.line()
      tokens(of: table, &code)
      codingKeys(of: table, &code)
      for column in table.columns {
        if case .enumeration(let cases) = column.type {
          code.line()
          enumeration(column, of: table, cases, &code)
        }
      }
      if table.primaryKey.count > 1, isTable {
        code.line()
        compositeKey(of: table, &code)
      }
    }
  }

  // MARK: Properties

  private func properties(of table: Catalog.Table, _ code: inout CodeWriter) {
    for column in table.columns {
      var documentation = column.documentation
      if column.isRowID {
        documentation = (documentation.map { $0 + "\n" } ?? "") + "0 until the database assigns a value."
      }
      code.documentation(documentation ?? "The column `\(column.name)`.")
      let keyword = column.isGenerated ? "public let" : "public var"
      code.line("\(keyword) \(model.member(column, of: table)): \(model.swiftType(of: column, in: table))")
    }
    code.line()
  }

  /// Returns the column with the name `id` in Swift.
  private func identifier(of table: Catalog.Table) -> Catalog.Column? {
    table.columns.first { model.member($0, of: table) == "id" }
  }

  private func identity(of table: Catalog.Table) -> (name: String, type: String)? {
    // A column with this name is the identity already.
    guard table.kind == .table, identifier(of: table) == nil else { return nil }
    if let uuid = table.column("uuid"), uuid.isNotNull {
      return (model.member(uuid, of: table), model.swiftType(of: uuid, in: table))
    }
    let key = table.primaryKey
    guard let first = key.first else { return nil }
    if key.count > 1 { return ("key", "Key") }
    return (model.member(first, of: table), model.swiftType(of: first, in: table))
  }

  private func initializer(of table: Catalog.Table, _ code: inout CodeWriter) {
    let columns = table.columns.filter { !$0.isGenerated }
    code.line("/// Creates a record that is not stored yet.")
    code.line("public init(")
    code.indented { code in
      for (index, column) in columns.enumerated() {
        let standard = Defaults.swift(for: column).map { " = " + $0 } ?? ""
        let comma = index == columns.count - 1 ? "" : ","
        code.line("\(model.member(column, of: table)): \(model.swiftType(of: column, in: table))\(standard)\(comma)")
      }
    }
    code.block(")") { code in
      for column in columns {
        let name = model.member(column, of: table)
        code.line("self.\(name) = \(name)")
      }
      for column in table.columns where column.isGenerated {
        code.line("self.\(model.member(column, of: table)) = \(column.isNotNull ? placeholder(for: column) : "nil")")
      }
    }
  }

  /// The value of a generated column in a record that is not stored yet.
  private func placeholder(for column: Catalog.Column) -> String {
    switch column.type {
    case .integer, .real: "0"
    case .text: "\"\""
    case .blob: "Data()"
    case .any: ".null"
    case .bool: "false"
    case .timestamp: "Date(timeIntervalSince1970: 0)"
    case .day: ".epoch"
    case .uuid: "UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))"
    case .json: "JSONText(\"null\")"
    case .enumeration(let values): "." + (values.first.flatMap { Model.cases(values)[$0] } ?? "init")
    }
  }

  // MARK: Reading

  private func decoding(of table: Catalog.Table, _ code: inout CodeWriter) {
    let names = table.columns.map(\.name)
    let list = names.map(SQL.quoted).joined(separator: ", ")
    code.line("public static let tableName: StaticString = \(swiftLiteral(table.name))")
    code.line(
      "public static let selectSQL: StaticString = \(swiftLiteral("SELECT \(list) FROM \(SQL.quoted(table.name))"))")
    code.line("public static let columnNames: [StaticString] = [\(names.map(swiftLiteral).joined(separator: ", "))]")
    code.line()
    code.block("public init(from row: borrowing Row, at first: Int32) throws(SQLError)") { code in
      for (index, column) in table.columns.enumerated() {
        code.line(
          "self.\(model.member(column, of: table)) = try row.decode(at: first\(index == 0 ? "" : " + \(index)"))")
      }
    }
  }

  private func tokens(of table: Catalog.Table, _ code: inout CodeWriter) {
    let type = model.typeName(of: table)
    code.line("/// The columns, for queries.")
    code.block("public struct Columns: RecordColumns") { code in
      code.line("public typealias Owner = \(type)")
      code.line("public let qualifier: String")
      code.line("public init(qualifier: String) { self.qualifier = qualifier }")
      for column in table.columns {
        let value = model.swiftType(of: column, in: table)
        code.line(
          "public var \(model.member(column, of: table)): Column<\(type), \(value)> { Column(\(swiftLiteral(column.name)), of: qualifier) }"
        )
      }
    }
  }

  private func codingKeys(of table: Catalog.Table, _ code: inout CodeWriter) {
    let names = table.columns.map { ($0.name, model.member($0, of: table)) }
    guard names.contains(where: { $0.0 != $0.1.filter { $0 != "`" } }) else { return }
    code.line()
    code.block("private enum CodingKeys: String, CodingKey") { code in
      for (sql, swift) in names { code.line("case \(swift) = \(swiftLiteral(sql))") }
    }
  }

  private func enumeration(
    _ column: Catalog.Column, of table: Catalog.Table, _ cases: [String], _ code: inout CodeWriter
  ) {
    let names = Model.cases(cases).map { (value: $0, name: $1) }.sorted {
      cases.firstIndex(of: $0.value) ?? 0 < cases.firstIndex(of: $1.value) ?? 0
    }
    code.documentation("The values of `\(column.name)`.")
    code.block("public enum \(model.enumeration(column, of: table)): String, SQLEnumeration") { code in
      for (value, name) in names { code.line("case \(name) = \(swiftLiteral(value))") }
      code.line()
      code.block("public static func decode(from row: borrowing Row, at index: Int32) throws(SQLError) -> Self") {
        code in
        for (value, name) in names {
          code.line("if row.text(at: index, equals: \(swiftLiteral(value))) { return .\(name) }")
        }
        code.line("throw row.mismatch(index, expected: \(swiftLiteral("one of " + cases.joined(separator: ", "))))")
      }
    }
  }
}

extension TableEmitter {
  func insertion(into table: Catalog.Table, _ code: inout CodeWriter) {
    let columns = table.columns.filter { !$0.isGenerated }
    let list = columns.map { SQL.quoted($0.name) }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    let sql = "INSERT INTO \(SQL.quoted(table.name)) (\(list)) VALUES (\(marks))"
    code.line("public static let insertSQL: StaticString = \(swiftLiteral(sql))")
    code.line()
    code.block("public func bindInsert(to statement: Statement) throws(SQLError)") { code in
      for (index, column) in columns.enumerated() {
        let name = model.member(column, of: table)
        if column.isRowID {
          code.line(
            "if self.\(name) == 0 { try statement.bindNull(at: \(index + 1)) } else { try statement.bind(self.\(name), at: \(index + 1)) }"
          )
        } else {
          code.line("try statement.bind(self.\(name), at: \(index + 1))")
        }
      }
    }
    if let key = columns.first(where: \.isRowID) {
      code.line()
      code.line("public mutating func didInsert(rowID: Int64) { self.\(model.member(key, of: table)) = rowID }")
    }
  }

  func keyed(_ table: Catalog.Table, _ code: inout CodeWriter) {
    let key = table.primaryKey
    let quoted = SQL.quoted(table.name)
    let condition = key.map { "\(SQL.quoted($0.name)) = ?" }.joined(separator: " AND ")
    let changed = table.columns.filter { $0.primaryKeyPosition == 0 && !$0.isGenerated }
    // A table of keys alone has nothing to change; its update writes the key over itself.
    let assigned = changed.isEmpty ? key : changed
    let assignments = assigned.map { "\(SQL.quoted($0.name)) = ?" }.joined(separator: ", ")
    let list = table.columns.map { SQL.quoted($0.name) }.joined(separator: ", ")
    let alive = model.marksDeletion(table) ? " AND isDeleted = 0" : ""
    if key.count == 1, let first = key.first {
      code.line("public typealias Key = \(model.baseType(of: first, in: table))")
      code.line("public var key: Key { self.\(model.member(first, of: table)) }")
    } else {
      let values = key.map { "\(model.member($0, of: table)): self.\(model.member($0, of: table))" }.joined(
        separator: ", ")
      code.line("public var key: Key { Key(\(values)) }")
    }
    for (name, sql) in [
      ("findSQL", "SELECT \(list) FROM \(quoted) WHERE \(condition)\(alive)"),
      ("updateSQL", "UPDATE \(quoted) SET \(assignments) WHERE \(condition)"),
      ("deleteSQL", "DELETE FROM \(quoted) WHERE \(condition)"),
    ] {
      code.line("public static let \(name): StaticString = \(swiftLiteral(sql))")
    }
    code.line()
    code.block("public func bindUpdate(to statement: Statement) throws(SQLError)") { code in
      for (index, column) in (assigned + key).enumerated() {
        code.line("try statement.bind(self.\(model.member(column, of: table)), at: \(index + 1))")
      }
    }
  }

  func finder(for key: [String], in table: Catalog.Table, _ code: inout CodeWriter) {
    let columns = key.compactMap(table.column)
    let list = table.columns.map { SQL.quoted($0.name) }.joined(separator: ", ")
    let condition = columns.map { "\(SQL.quoted($0.name)) = ?" }.joined(separator: " AND ")
    let alive = model.marksDeletion(table) ? " AND isDeleted = 0" : ""
    let sql = "SELECT \(list) FROM \(SQL.quoted(table.name)) WHERE \(condition)\(alive)"
    // The connection of the function is called `db`; a column of that name keeps its label.
    let parameters = columns.map { column in
      let name = model.member(column, of: table)
      return "\(name == "db" ? "db dbValue" : name): \(model.baseType(of: column, in: table))"
    }
    code.line(
      "/// Returns the record with this \(key.joined(separator: " and "))\(alive.isEmpty ? "" : ", unless it is marked as deleted"), or nil if it does not exist."
    )
    code.block("public static func fetch(_ db: Connection, \(parameters.joined(separator: ", "))) throws -> Self?") {
      code in
      code.block("try db.fetchFirst(Self.self, \(swiftLiteral(sql)))") { code in
        for (index, column) in columns.enumerated() {
          let name = model.member(column, of: table)
          code.line("try $0.bind(\(name == "db" ? "dbValue" : name), at: \(index + 1))")
        }
      }
    }
  }

  func compositeKey(of table: Catalog.Table, _ code: inout CodeWriter) {
    code.line("/// The primary key.")
    code.block("public struct Key: RecordKey, Codable") { code in
      for column in table.primaryKey {
        code.line("public var \(model.member(column, of: table)): \(model.swiftType(of: column, in: table))")
      }
      code.line()
      let parameters = table.primaryKey.map { "\(model.member($0, of: table)): \(model.swiftType(of: $0, in: table))" }
      code.block("public init(\(parameters.joined(separator: ", ")))") { code in
        for column in table.primaryKey {
          code.line("self.\(model.member(column, of: table)) = \(model.member(column, of: table))")
        }
      }
      code.line()
      code.block("public func bind(to statement: Statement, from index: Int32) throws(SQLError)") { code in
        for (offset, column) in table.primaryKey.enumerated() {
          code.line("try statement.bind(self.\(model.member(column, of: table)), at: index + \(offset))")
        }
      }
    }
  }
}
