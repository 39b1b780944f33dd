import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Imports the rows of a file as records in the caller's transaction. An invalid row refuses the whole file, unless
/// the plan skips invalid rows. Memory use does not grow with a CSV or NDJSON file.
package struct Importer {
  let connection: WriteConnection
  let entities: Entities
  let entity: Entity
  let plan: ImportPlan
  let progress: (_ bytes: Int, _ rows: Int) -> Void

  /// Creates an importer for one entity. It is valid as long as the connection.
  package init(
    connection: WriteConnection, entities: Entities, entity: Entity, plan: ImportPlan,
    progress: @escaping (_ bytes: Int, _ rows: Int) -> Void
  ) {
    (self.connection, self.entities, self.entity) = (connection, entities, entity)
    (self.plan, self.progress) = (plan, progress)
  }

  /// Imports a CSV file whose first record names the columns.
  package func importCSV(_ source: ByteSource) throws -> ImportResult {
    let reader = CSVReader(source)
    do {
      guard try reader.next() else {
        throw VaultError(.refused, "\(source.name) is empty", hint: "the first line must contain the column names")
      }
    } catch let problem as CSVReader.Problem {
      throw VaultError(.refused, "\(source.name):\(problem.line): \(problem.message)")
    }
    let columns = (0..<reader.count).map(reader.text)
    let (targets, leftOut) = try entity.importTargets(
      plan, columns: columns, of: source.name, entities: entities, connection: connection)
    let binder = RowBinder(importer: self, targets: targets)
    var result = try connection.withStatement(insertSQL(targets)) { statement in
      try rows(of: reader, named: columns, source, binder, statement)
    }
    result.ignoredColumns = leftOut
    return try finish(result)
  }

  private func rows(
    of reader: CSVReader, named columns: [String], _ source: ByteSource, _ binder: RowBinder, _ statement: Statement
  ) throws -> ImportResult {
    var result = ImportResult()
    var rows = 0
    while true {
      do {
        guard try reader.next() else { break }
        guard reader.count == columns.count else {
          throw RowProblem(field: nil, message: "has \(reader.count) values instead of \(columns.count)")
        }
        try binder.insert(reader, statement)
        result.imported += 1
      } catch let problem as CSVReader.Problem {
        note(ImportProblem(line: problem.line, field: nil, message: problem.message), in: &result)
      } catch let problem as RowProblem {
        note(ImportProblem(line: reader.line, field: problem.field, message: problem.message), in: &result)
      }
      rows += 1
      if rows & 1023 == 0 {
        try connection.throwIfCancelled()
        progress(source.position, rows)
      }
    }
    progress(source.position, rows)
    return result
  }

  func note(_ problem: ImportProblem, in result: inout ImportResult) {
    result.add(problem)
    if plan.skipsInvalid { result.skipped += 1 }
  }

  func finish(_ result: ImportResult) throws -> ImportResult {
    if result.problemCount > 0, !plan.skipsInvalid {
      var refused = result
      refused.imported = 0
      throw ImportRefused(result: refused)
    }
    return result
  }

  private func insertSQL(_ targets: [ImportTarget]) -> String {
    let names = targets.map { SQL.quoted($0.column.name) }.joined(separator: ", ")
    let marks = repeatElement("?", count: targets.count).joined(separator: ", ")
    return "INSERT INTO \(SQL.quoted(entity.table.name)) (\(names)) VALUES (\(marks))"
  }
}

/// The reason why a row cannot be imported.
struct RowProblem: Error {
  let field: String?
  let message: String
}

/// Binds the fields of a row to the INSERT and runs it.
private final class RowBinder {
  private let importer: Importer
  private let targets: [ImportTarget]
  private let readers: [FieldText]
  private let nullBytes: [UInt8]?
  private var known: [[String: SQLArgument]]

  init(importer: Importer, targets: [ImportTarget]) {
    self.importer = importer
    self.targets = targets
    readers = targets.map { FieldText(type: $0.column.type) }
    nullBytes = importer.plan.nullText.map { Array($0.utf8) }
    known = Array(repeating: [:], count: targets.count)
  }

  func insert(_ row: CSVReader, _ statement: Statement) throws {
    for (index, target) in targets.enumerated() {
      let place = Int32(index + 1)
      switch target.source {
      case .newUUID: try importer.connection.environment.uuids.next().bind(to: statement, at: place)
      case .constant(let value): try value.bind(to: statement, at: place)
      case .field(let position):
        let text = row.field(position)
        if isNull(text) {
          try statement.bindNull(at: place)
          continue
        }
        do {
          if target.reference == nil {
            try readers[index].bind(text, to: statement, at: place)
          } else {
            try reference(String(decoding: text, as: UTF8.self), index).bind(to: statement, at: place)
          }
        } catch let problem as FieldProblem {
          throw RowProblem(field: target.column.name, message: problem.message)
        }
      }
    }
    defer { statement.reset() }
    do throws(SQLError) {
      try statement.run()
    } catch {
      throw error.code == .constraint ? explained(error, row) : error
    }
  }

  private func isNull(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if text.isEmpty { return true }
    guard let nullBytes, nullBytes.count == text.count else { return false }
    return text.elementsEqual(nullBytes)
  }

  private func reference(_ text: String, _ index: Int) throws -> SQLArgument {
    if let value = known[index][text] { return value }
    let target = targets[index]
    let references = References(connection: importer.connection, entities: importer.entities)
    guard let reference = target.reference else { return .null }
    let value =
      try target.lookup.map { try references.find(reference, by: $0, .text(text)) }
      ?? references.resolve(text, target.column, reference)
    // The limit keeps memory use constant for a file that references another record in every row.
    if known[index].count >= 10_000 { known[index].removeAll(keepingCapacity: true) }
    known[index][text] = value
    return value
  }

  private func explained(_ error: SQLError, _ row: CSVReader) -> RowProblem {
    var values: [(column: String, value: SQLArgument)] = []
    for (index, target) in targets.enumerated() where target.reference != nil {
      guard case .field(let position) = target.source else { continue }
      let text = row.field(position)
      // The same reference was resolved a moment ago. The result only improves the message.
      if !isNull(text), let value = try? reference(String(decoding: text, as: UTF8.self), index) {
        values.append((target.column.name, value))
      }
    }
    let (field, message) = ConstraintMessage(entity: importer.entity).explain(error, importer.connection, values)
    guard case .notNull = error.constraint else { return RowProblem(field: field, message: message) }
    return missing(in: row) ?? RowProblem(field: field, message: message)
  }

  // SQLite reports only the first missing value, in table order. This message lists all missing values, so that the
  // user can correct them at once.
  private func missing(in row: CSVReader) -> RowProblem? {
    let names = targets.compactMap { target -> String? in
      guard target.column.isNotNull, case .field(let position) = target.source, isNull(row.field(position)) else {
        return nil
      }
      return target.column.name
    }
    guard let first = names.first else { return nil }
    let others = names.dropFirst()
    return RowProblem(
      field: first,
      message: others.isEmpty
        ? "is missing" : "is missing, and so \(others.count == 1 ? "is" : "are") \(others.joined(separator: ", "))")
  }
}

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
      default: throw RowProblem(field: name, message: "is not text")
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
