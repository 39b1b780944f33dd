extension SQLWriter {
  /// Writes a node, in parentheses when it binds less strongly than its place asks for.
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
