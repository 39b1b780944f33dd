import CSQLCipher

/// Writes a composed statement as text and collects its values in the order of their placeholders.
///
/// The tables of a statement are named `t0`, `t1` and so on in the order of their first use. The same composition
/// therefore always has the same text.
struct SQLWriter {
  private var text: [UInt8] = []
  private(set) var arguments: [SQLArgument] = []
  /// The reason why the statement cannot run. It is thrown when the statement is run.
  var problem: SQLError?
  private var qualifiers: [String] = []
  /// The tables of the enclosing SELECTs.
  var scope: [String] = []

  init() {
    text.reserveCapacity(512)
    arguments.reserveCapacity(8)
  }

  /// Returns the finished statement.
  /// - Throws: ``SQLError`` with `misuse` for an invalid composition.
  func finish() throws(SQLError) -> SQL {
    if let problem { throw problem }
    return SQL(raw: String(decoding: text, as: UTF8.self), arguments: arguments)
  }

  mutating func write(_ word: StaticString) {
    text.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  mutating func write(bytes: [UInt8]) { text.append(contentsOf: bytes) }

  mutating func bind(_ value: SQLArgument) {
    text.append(UInt8(ascii: "?"))
    arguments.append(value)
  }

  mutating func splice(_ sql: SQL) {
    text.append(contentsOf: sql.text.utf8)
    arguments.append(contentsOf: sql.arguments)
  }

  mutating func write(name: StaticString) { Self.write(name: name, to: &text) }

  mutating func write(qualifier: String) { Self.write(number: number(of: qualifier), to: &text) }

  /// Returns the number of a table in this statement.
  mutating func number(of qualifier: String) -> Int {
    if let index = qualifiers.firstIndex(of: qualifier) { return index }
    qualifiers.append(qualifier)
    return qualifiers.count - 1
  }

  static func write(number: Int, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "t"))
    if number < 10 {
      text.append(UInt8(ascii: "0") + UInt8(number))
    } else {
      text.append(contentsOf: String(number).utf8)
    }
  }

  /// Writes a name of the schema, in quotes if it is a keyword or not a plain word.
  static func write(name: StaticString, to text: inout [UInt8]) {
    let bytes = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    if isPlain(bytes) {
      text.append(contentsOf: bytes)
    } else {
      text.append(contentsOf: SQL.quoted(name.description).utf8)
    }
  }

  /// Returns whether a name needs no quotes.
  fileprivate static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.first.map { $0 > 0x39 } == true
      && bytes.allSatisfy { byte in
        (0x61...0x7a).contains(byte) || (0x41...0x5a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5f
      }
      && bytes.withMemoryRebound(to: CChar.self) { sqlite3_keyword_check($0.baseAddress, Int32($0.count)) } == 0
  }
}

extension SQL {
  /// Returns a name as it stands in SQL: in double quotes if it is a keyword or not a plain word.
  package static func quotedIfNeeded(_ name: String) -> String {
    Array(name.utf8).withUnsafeBufferPointer(SQLWriter.isPlain) ? name : quoted(name)
  }
}

extension SQLWriter {
  /// Writes a node, in parentheses if its precedence is lower than its context requires.
  mutating func write(_ node: SQLNode, atLeast precedence: SQLNode.Precedence) {
    guard node.precedence < precedence else { return write(node) }
    write("(")
    write(node)
    write(")")
  }

  mutating func write(_ node: SQLNode) {
    switch node.kind {
    case .column(let name, let qualifier):
      write(qualifier: qualifier)
      write(".")
      write(name: name)
    case .value(let value):
      bind(value)
    case .raw(let sql):
      splice(sql)
    case .template(let parts):
      for part in parts {
        if case .raw(let sql) = part.kind { splice(sql) } else { write(part, atLeast: .whole) }
      }
    case .word(let word):
      write(word)
    case .binary(let left, let word, let right, let precedence):
      write(binary: left, word, right, precedence)
    case .prefix(let word, let operand, let precedence):
      write(word)
      write(operand, atLeast: precedence)
    case .postfix(let operand, let word, _):
      write(operand, atLeast: .relation)
      write(word)
    case .call(let name, let operands, let isDistinct):
      write(name)
      write(isDistinct ? "(DISTINCT " : "(")
      write(list: operands)
      write(")")
    case .cast(let operand, let type):
      write("CAST(")
      write(operand)
      write(" AS ")
      write(type)
      write(")")
    case .between(let operand, let lower, let upper):
      write(operand, atLeast: .relation)
      write(" BETWEEN ")
      write(lower, atLeast: .addition)
      write(" AND ")
      write(upper, atLeast: .addition)
    case .like(let operand, let pattern, let escape):
      write(operand, atLeast: .relation)
      write(" LIKE ")
      write(pattern, atLeast: .relation)
      if let escape {
        write(" ESCAPE ")
        write(escape)
      }
    case .list(let nodes):
      write("(")
      write(list: nodes)
      write(")")
    case .select(let parts, let result):
      write("(")
      write(parts, result)
      write(")")
    case .exists(let parts):
      write("EXISTS (")
      write(parts, .one)
      write(")")
    }
  }

  private mutating func write(
    binary left: SQLNode, _ word: StaticString, _ right: SQLNode, _ precedence: SQLNode.Precedence
  ) {
    let isComparison = precedence == .equality || precedence == .relation
    write(left, atLeast: isComparison ? .addition : precedence)
    write(word)
    switch precedence {
    case .and, .or: write(right, atLeast: precedence)
    case .addition: write(right, atLeast: .multiplication)
    case .multiplication: write(right, atLeast: .whole)
    default: write(right, atLeast: .addition)
    }
  }

  mutating func write(list nodes: [SQLNode]) {
    var isFirst = true
    for node in nodes {
      if !isFirst { write(", ") }
      write(node)
      isFirst = false
    }
  }
}
