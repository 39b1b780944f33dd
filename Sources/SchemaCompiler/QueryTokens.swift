import CipherSQL

/// The words of a query, without spaces and comments, from which types are inferred that SQLite does not report.
struct QueryTokens {
  private struct Word {
    let text: String
    let upper: String
    let offset: Int
    let kind: SQLText.Kind
  }

  private let words: [Word]
  /// The statement without its semicolon and later text.
  let statement: String

  init(_ sql: String) {
    let bytes = Array(sql.utf8)
    let all = SQLText.tokens(of: bytes).filter { $0.kind != .space && $0.kind != .comment }.map { token in
      let text =
        token.kind == .quotedName
        ? TableText.unquoted(bytes[token.range]) : String(decoding: bytes[token.range], as: UTF8.self)
      return Word(text: text, upper: text.uppercased(), offset: token.range.lowerBound, kind: token.kind)
    }
    let last = all.last
    let isEnded = last?.text == ";"
    words = isEnded ? Array(all.dropLast()) : all
    let end = isEnded ? last?.offset ?? bytes.count : bytes.count
    var text = String(decoding: bytes[..<end], as: UTF8.self)
    while let character = text.last, character.isWhitespace { text.removeLast() }
    statement = text
  }

  /// The first position of a parameter.
  func offset(of parameter: String) -> Int { words.first { $0.text == parameter }?.offset ?? 0 }

  // MARK: Parameters

  /// The type of the column that a parameter is compared with or written to.
  func parameterType(_ name: String, in model: Model) throws -> String? {
    for index in words.indices where words[index].text == name {
      if let type = type(ofParameterAt: index, in: model) { return type }
    }
    return nil
  }

  private func type(ofParameterAt index: Int, in model: Model) -> String? {
    let previous = upper(index - 1)
    if previous == "LIMIT" || previous == "OFFSET" { return "Int" }
    if previous == "(", upper(index - 2) == "CAST", upper(index + 1) == "AS" { return Self.castType(upper(index + 2)) }
    if previous == "MATCH" { return "String" }
    if let column = comparedColumn(before: index) ?? comparedColumn(after: index) {
      return type(ofColumn: column, in: model)
    }
    if let column = assignedColumn(index) { return type(ofColumn: column, in: model) }
    return nil
  }

  private static let comparisons: Set<String> = ["=", "<", ">", "IS", "LIKE", "GLOB", "!", "BETWEEN", "NOT"]

  /// `column = :p`, `column <= :p`, `column BETWEEN :p AND :q`, `column IN (:p, ...)`.
  private func comparedColumn(before index: Int) -> Int? {
    var place = index - 1
    if upper(place) == "AND", words.indices.contains(place - 1), words[place - 1].kind == .parameter,
      upper(place - 2) == "BETWEEN"
    {
      place -= 2
    }
    if upper(place) == "(" || upper(place) == "," {
      while place >= 0, upper(place) != "IN",
        upper(place) == "(" || upper(place) == "," || words[place].kind == .parameter
      {
        place -= 1
      }
      guard upper(place) == "IN" else { return nil }
      place -= 1
      if upper(place) == "NOT" { place -= 1 }
      return isName(place) ? place : nil
    }
    guard Self.comparisons.contains(upper(place)) else { return nil }
    while Self.comparisons.contains(upper(place)) { place -= 1 }
    return isName(place) ? place : nil
  }

  /// `:p = column`.
  private func comparedColumn(after index: Int) -> Int? {
    var place = index + 1
    guard ["=", "<", ">", "!"].contains(upper(place)) else { return nil }
    while ["=", "<", ">", "!"].contains(upper(place)) { place += 1 }
    guard isName(place) else { return nil }
    return upper(place + 1) == "." ? place + 2 : place
  }

  /// The place among the columns of an `INSERT INTO t (a, b) VALUES (:p, :q)`.
  private func assignedColumn(_ index: Int) -> Int? {
    guard upper(0) == "INSERT" || upper(0) == "REPLACE", let values = words.firstIndex(where: { $0.upper == "VALUES" }),
      index > values, let open = words.firstIndex(where: { $0.text == "(" }), open < values
    else { return nil }
    var position = 0
    var depth = 0
    for word in words[(values + 1)..<index] {
      if word.text == "(" { depth += 1 }
      if word.text == ")" { depth -= 1 }
      if word.text == ",", depth == 1 { position += 1 }
    }
    let columns = (open + 1..<values).filter { isName($0) }
    return depth == 1 && columns.indices.contains(position) ? columns[position] : nil
  }

  /// Returns the one type that all columns with this name have in the query's tables.
  private func type(ofColumn place: Int, in model: Model) -> String? {
    let name = words[place].text.lowercased()
    let named = Set(words.map { $0.text.lowercased() })
    var tables = model.catalog.tables.filter { named.contains($0.name.lowercased()) }
    if upper(place - 1) == ".", let table = alias(words[place - 2].text) {
      tables = tables.filter { $0.name.lowercased() == table.lowercased() }
    }
    var types: Set<String> = []
    for table in tables {
      guard let column = table.columns.first(where: { $0.name.lowercased() == name }) else { continue }
      types.insert(model.baseType(of: column, in: table, nested: false))
    }
    return types.count == 1 ? types.first : nil
  }

  // MARK: Tables

  /// Returns the table with a name or alias in FROM or JOIN.
  func alias(_ name: String) -> String? {
    for index in words.indices
    where ["FROM", "JOIN", "UPDATE", "INTO", ","].contains(words[index].upper) && isName(index + 1) {
      let table = words[index + 1].text
      if upper(index + 2) == "." { continue }
      let next = upper(index + 2) == "AS" ? index + 3 : index + 2
      if table.lowercased() == name.lowercased() { return table }
      if isName(next), words[next].text.lowercased() == name.lowercased() { return table }
    }
    return nil
  }

  /// Whether a table is on the side of an outer join that may have no row.
  func isOptional(table: String) -> Bool {
    for index in words.indices where words[index].upper == "JOIN" && isName(index + 1) {
      let isOuter = upper(index - 1) == "LEFT" || upper(index - 1) == "OUTER" && upper(index - 2) == "LEFT"
      if isOuter, words[index + 1].text.lowercased() == table.lowercased() { return true }
    }
    return words.contains { $0.upper == "RIGHT" || $0.upper == "FULL" }
  }

  // MARK: Expressions

  /// The type of an expression of the result list, if its outermost function determines it.
  func expressionType(_ position: Int, in model: Model) -> String? {
    guard let expression = resultExpression(position) else { return nil }
    let function = upper(expression.lowerBound)
    switch function {
    case "COUNT": return "Int64"
    case "AVG", "ROUND": return "Double?"
    case "TOTAL": return "Double"
    case "EXISTS": return "Bool"
    case "LENGTH": return "Int64?"
    case "STRFTIME", "SUBSTR", "LOWER", "UPPER", "TRIM", "PRINTF", "FORMAT", "GROUP_CONCAT", "REPLACE", "SNIPPET":
      return "String?"
    case "CAST":
      guard let type = words[expression].lastIndex(where: { $0.upper == "AS" }) else { return nil }
      return Self.castType(upper(type + 1)).map { $0 + "?" }
    case "MIN", "MAX", "SUM":
      let column = upper(expression.lowerBound + 3) == "." ? expression.lowerBound + 4 : expression.lowerBound + 2
      return isName(column) ? type(ofColumn: column, in: model).map { $0 + "?" } : nil
    default: return nil
    }
  }

  /// The words of the n-th result of the outermost SELECT.
  private func resultExpression(_ position: Int) -> Range<Int>? {
    guard let select = outermostSelect else { return nil }
    var start = select + 1
    if upper(start) == "DISTINCT" || upper(start) == "ALL" { start += 1 }
    var depth = 0
    var current = 0
    for index in start...words.count {
      let word = upper(index)
      if word == "(" { depth += 1 }
      if word == ")" { depth -= 1 }
      if index == words.count || depth == 0 && (word == "," || word == "FROM") {
        if current == position { return start..<index }
        if word == "FROM" { return nil }
        current += 1
        start = index + 1
      }
    }
    return nil
  }

  private var outermostSelect: Int? {
    var depth = 0
    for index in words.indices {
      if words[index].text == "(" { depth += 1 }
      if words[index].text == ")" { depth -= 1 }
      if depth == 0, words[index].upper == "SELECT" || words[index].upper == "RETURNING" { return index }
    }
    return nil
  }

  private static func castType(_ name: String) -> String? {
    switch name {
    case "INTEGER", "INT": "Int64"
    case "REAL": "Double"
    case "TEXT": "String"
    case "BLOB": "Data"
    default: nil
    }
  }

  private func upper(_ index: Int) -> String { words.indices.contains(index) ? words[index].upper : "" }

  private func isName(_ index: Int) -> Bool {
    words.indices.contains(index) && (words[index].kind == .word || words[index].kind == .quotedName)
  }
}
