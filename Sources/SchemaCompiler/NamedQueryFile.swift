import CipherSQL

/// A query as its file declares it.
struct NamedQuery {
  enum Kind: String {
    case one, many, exec
  }

  let name: String
  let kind: Kind
  /// The line of its head, counted from 1.
  let line: Int
  /// The statement and the line on which it begins.
  let sql: String
  let sqlLine: Int
  let documentation: String?
  /// `-- no-scan`: reading a whole table is a mistake.
  let forbidsScan: Bool
  /// `-- param name: Type`.
  let parameterTypes: [String: String]
  /// `-- result name: Type`.
  let resultTypes: [String: String]
}

/// A file of named queries. Each begins with `-- name: driestRooms :many`; then come comments, which become its
/// documentation, annotations, and one statement.
struct NamedQueryFile {
  let queries: [NamedQuery]

  init(text: String, path: String) throws {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var queries: [NamedQuery] = []
    var start: Int?
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("-- name:") {
        if let begin = start { queries.append(try Self.query(lines, begin..<index, path)) }
        start = index
      } else if start == nil, !line.allSatisfy(\.isWhitespace), !line.hasPrefix("--") {
        throw CompilerProblem(
          path: path, line: index + 1, message: "a query must begin with a line such as -- name: driestRooms :many")
      }
    }
    if let begin = start { queries.append(try Self.query(lines, begin..<lines.count, path)) }
    var names: [String: Int] = [:]
    for query in queries {
      if let first = names[query.name] {
        throw CompilerProblem(
          path: path, line: query.line, message: "the query \(query.name) is already defined on line \(first)")
      }
      names[query.name] = query.line
    }
    self.queries = queries
  }

  private static func query(_ lines: [String], _ range: Range<Int>, _ path: String) throws -> NamedQuery {
    let head = lines[range.lowerBound].dropFirst("-- name:".count).split(separator: " ").map(String.init)
    let line = range.lowerBound + 1
    guard head.count == 2, let name = head.first, isName(name), head[1].hasPrefix(":"),
      let kind = NamedQuery.Kind(rawValue: String(head[1].dropFirst()))
    else {
      throw CompilerProblem(
        path: path, line: line, message: "a query header must be -- name: lowerCamelName :one, :many or :exec")
    }
    var documentation: [String] = []
    var types: [String: [String: String]] = [:]
    var forbidsScan = false
    var index = range.lowerBound + 1
    while index < range.upperBound, lines[index].hasPrefix("--") {
      let comment = lines[index].drop { $0 == "-" || $0 == " " }
      if comment == "no-scan" {
        forbidsScan = true
      } else if let keyword = ["param", "result"].first(where: { comment.hasPrefix($0 + " ") && comment.contains(":") })
      {
        let parts = comment.dropFirst(keyword.count + 1).split(separator: ":", maxSplits: 1).map {
          $0.filter { !$0.isWhitespace }
        }
        if parts.count == 2 { types[keyword, default: [:]][parts[0]] = parts[1] }
      } else {
        documentation.append(String(comment))
      }
      index += 1
    }
    let sql = lines[index..<range.upperBound].joined(separator: "\n")
    guard !SQLText.isBlank(sql.utf8) else {
      throw CompilerProblem(path: path, line: line, message: "the query \(name) has no statement")
    }
    return NamedQuery(
      name: name, kind: kind, line: line, sql: sql, sqlLine: index + 1,
      documentation: documentation.isEmpty ? nil : documentation.joined(separator: "\n"), forbidsScan: forbidsScan,
      parameterTypes: types["param"] ?? [:], resultTypes: types["result"] ?? [:])
  }

  private static func isName(_ text: String) -> Bool {
    guard let first = text.first, first.isLowercase else { return false }
    return text.allSatisfy { $0.isLetter || $0.isNumber }
  }
}
