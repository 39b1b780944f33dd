import CipherSQL

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
      "/// The record with this \(key.joined(separator: " and "))\(alive.isEmpty ? "" : ", unless it is marked as deleted"); nil when there is none."
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
