import CipherSQL

extension Importer {
  /// Imports a file with one JSON object per line.
  package func importNDJSON(_ source: ByteSource) throws -> ImportResult {
    try entity.check(plan, entities: entities, connection: connection)
    let reader = LineReader(source)
    var result = ImportResult()
    var leftOut: [String] = []
    while let line = try reader.next() {
      if !line.isEmpty {
        try take(source.name, line: reader.line, into: &result) {
          guard let text = String(validating: line, as: UTF8.self) else {
            throw RowProblem(field: nil, message: "is not valid UTF-8; save the file as UTF-8")
          }
          try insert(object: text, leavingOut: &leftOut)
        }
      }
      if reader.line & 255 == 0 {
        try connection.throwIfCancelled()
        progress(source.position, reader.line)
      }
    }
    progress(source.position, reader.line)
    result.ignoredColumns = leftOut
    return try finish(result)
  }

  /// Imports a JSON document: an object or an array of objects. The document is held in memory. Each problem names
  /// the line on which its object begins.
  package func importJSON(_ source: ByteSource) throws -> ImportResult {
    try entity.check(plan, entities: entities, connection: connection)
    let text = try source.readText(limit: ByteSource.longestDocument)
    var result = ImportResult()
    var lines = JSONElementLines(text)
    var leftOut: [String] = []
    _ = try JSONDocument.forEachObject(text, name: source.name, on: connection) { index, object in
      try take(source.name, line: lines.next(), into: &result) { try insert(object: object, leavingOut: &leftOut) }
      if index & 255 == 0 {
        try connection.throwIfCancelled()
        progress(source.position, index)
      }
    }
    result.ignoredColumns = leftOut
    return try finish(result)
  }

  private func take(
    _ file: String, line: Int, into result: inout ImportResult, _ body: () throws -> Void
  ) throws {
    do {
      try connection.savepoint(body)
      result.imported += 1
    } catch let problem as RowProblem {
      note(ImportProblem(line: line, field: problem.field, message: problem.message), in: &result)
    } catch let error as VaultError where error.code == .noSuchField && !plan.skipsInvalid {
      // The remedy names the fields, as for an unknown column of a CSV file.
      throw VaultError(
        error.code, "\(file):\(line): \(error.message)", remedy: error.remedy, name: error.name,
        candidates: error.candidates)
    } catch let error as VaultError where [.badValue, .refused, .noSuchField].contains(error.code) {
      let prefix = error.name.map { "\(entity.type).\($0) " }
      let message = prefix.flatMap { error.message.hasPrefix($0) ? String(error.message.dropFirst($0.count)) : nil }
      let field = message == nil ? nil : error.name
      note(ImportProblem(line: line, field: field, message: message ?? error.message), in: &result)
    }
  }

  private func insert(object text: String, leavingOut leftOut: inout [String]) throws {
    let kind = try connection.fetchOne(
      "SELECT CASE WHEN json_valid(\(text)) THEN json_type(\(text)) END", as: String?.self)
    guard kind == "object" else { throw RowProblem(field: nil, message: "is not a JSON object") }
    let members = try JSONFields(object: text, of: entity, on: connection).fields
    var fields: [(name: String, value: FieldInput)] = []
    let renamed = Dictionary(plan.mapping.map { ($0.column, $0.field) }) { first, _ in first }
    for (name, value) in members {
      let field = renamed[name] ?? name
      // Exports contain the fields that FieldVault maintains. They are ignored here, as in CSV files.
      if renamed[name] == nil, entity.isKept(name) { continue }
      if case .typed(.string(let text)) = value, text == plan.nullText { continue }
      guard plan.mapping.isEmpty || renamed[name] != nil || entity.isImported(name) else {
        if !leftOut.contains(name) { leftOut.append(name) }
        continue
      }
      fields.append((field, value))
    }
    fields += plan.constants.map { ($0.field, .text($0.value)) }
    try RecordWriter(connection, entities: entities).put(entity, try lookedUp(fields))
  }

  // Replaces a field such as `roomId.title`, which names the referenced record by one of its columns.
  private func lookedUp(_ fields: [(name: String, value: FieldInput)]) throws -> [(name: String, value: FieldInput)] {
    try fields.map { name, value in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let reference = entity.reference(of: parts[0]) else { return (name, value) }
      let text: String
      switch value {
      case .text(let given), .typed(.string(let given)): text = given
      default: throw RowProblem(field: name, message: "is not a text")
      }
      do {
        let found = try References(connection: connection, entities: entities).find(
          reference, by: parts[1], .text(text))
        guard case .integer(let key) = found else { return (parts[0], value) }
        return (parts[0], .typed(.integer(key)))
      } catch let problem as FieldProblem {
        throw RowProblem(field: parts[0], message: problem.message)
      }
    }
  }
}
