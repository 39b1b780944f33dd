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
        throw VaultError(.refused, "\(source.name) is empty", hint: "its first line names the columns")
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
          throw RowProblem(field: nil, message: "has \(reader.count) values, and the first line names \(columns.count)")
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
