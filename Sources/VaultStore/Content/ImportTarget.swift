import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The source of one column of the INSERT.
struct ImportTarget {
  enum Source {
    /// The field at this position of the row.
    case field(Int)
    /// The same value for each row.
    case constant(SQLArgument)
    /// A new version 7 UUID.
    case newUUID
  }

  let column: Catalog.Column
  let source: Source
  /// The foreign key, if the column references another record.
  let reference: Catalog.ForeignKey?
  /// The column that identifies the referenced record; `nil` for its uuid or local id.
  let lookup: String?
}

extension Entity {
  /// Determines which column of a file fills which field.
  ///
  /// A plan with a mapping selects columns. Without a mapping every column must match a field, so that a misspelled
  /// name does not lose values. Unmapped columns that FieldVault maintains are ignored.
  /// - Parameters:
  ///   - columns: the column names in the file.
  ///   - file: the name of the file in messages.
  /// - Returns: the targets, and the columns that the mapping leaves out.
  /// - Throws: ``VaultError`` with `noSuchField` for an unknown field or column, with `badValue` for an invalid
  ///   constant, with `refused` when no column matches or a field is filled twice.
  func importTargets(
    _ plan: ImportPlan, columns: [String], of file: String, entities: Entities, connection: Connection
  ) throws -> (targets: [ImportTarget], leftOut: [String]) {
    var targets: [ImportTarget] = []
    for (field, column) in plan.mapping {
      guard let position = columns.firstIndex(of: column) else {
        throw VaultError(
          .noSuchField, "the file has no column '\(column)'",
          hint: "its columns are \(columns.joined(separator: ", "))",
          name: column, candidates: columns)
      }
      targets.append(try target(field, .field(position), entities))
    }
    for (field, value) in plan.constants { targets.append(try constant(field, value, entities, connection)) }
    let taken = Set(targets.map(\.column.name))
    var leftOut: [String] = []
    for (position, name) in columns.enumerated() {
      if plan.mapping.contains(where: { $0.column == name }) { continue }
      if isImported(name) {
        if !taken.contains(name) { targets.append(try target(name, .field(position), entities)) }
      } else if !isKept(name) {
        leftOut.append(name)
      }
    }
    guard targets.contains(where: { if case .field = $0.source { true } else { false } }) else {
      throw VaultError(
        .refused, "no column of the file is a field of \(type)",
        remedy: .mapColumns(columns: columns))
    }
    if plan.mapping.isEmpty, let name = leftOut.first {
      throw VaultError(
        .noSuchField, "\(file):1: \(type) has no field '\(name)'",
        remedy: .mapColumn(name: name, fields: fields), name: name, candidates: fields)
    }
    try refuseDoubles(targets)
    addKept(to: &targets, at: connection.environment.date)
    return (targets, leftOut)
  }

  /// Checks the fields and constants of a plan for a file whose columns can differ from row to row.
  /// - Throws: ``VaultError`` with `noSuchField` for an unknown field, with `badValue` or `refused` for a constant.
  func check(_ plan: ImportPlan, entities: Entities, connection: Connection) throws {
    for (field, _) in plan.mapping { _ = try target(field, .field(0), entities) }
    for (field, value) in plan.constants { _ = try constant(field, value, entities, connection) }
  }

  /// Returns whether a column fills a field without a mapping. It must have the name of a field, or name a
  /// reference by a column of the referenced record, such as `roomId.title`.
  func isImported(_ name: String) -> Bool {
    fields.contains(name) || name.firstIndex(of: ".").map { reference(of: String(name[..<$0])) != nil } ?? false
  }

  private func target(_ field: String, _ source: ImportTarget.Source, _ entities: Entities) throws -> ImportTarget {
    let parts = field.split(separator: ".", maxSplits: 1).map(String.init)
    let column = try settableColumn(parts.first ?? field)
    let reference = reference(of: column.name)
    var lookup: String?
    if parts.count == 2 {
      guard let reference, let target = entities.entity(ofTable: reference.table) else {
        throw VaultError(
          .refused, "\(type).\(column.name) is not a reference, so it cannot be looked up by '\(parts[1])'")
      }
      lookup = try target.column(parts[1]).name
    }
    return ImportTarget(column: column, source: source, reference: reference, lookup: lookup)
  }

  private func constant(
    _ field: String, _ value: String, _ entities: Entities, _ connection: Connection
  ) throws -> ImportTarget {
    let target = try target(field, .field(0), entities)
    do {
      let references = References(connection: connection, entities: entities)
      let argument: SQLArgument
      if let reference = target.reference, let lookup = target.lookup {
        argument = try references.find(reference, by: lookup, .text(value))
      } else if let reference = target.reference {
        argument = try references.resolve(.text(value), target.column, reference)
      } else {
        argument = try FieldInput.text(value).argument(for: target.column)
      }
      return ImportTarget(column: target.column, source: .constant(argument), reference: nil, lookup: nil)
    } catch let problem as FieldProblem {
      throw VaultError(.badValue, "\(type).\(target.column.name) \(problem.message)")
    }
  }

  private func refuseDoubles(_ targets: [ImportTarget]) throws {
    var seen: Set<String> = []
    for target in targets where !seen.insert(target.column.name).inserted {
      throw VaultError(.refused, "\(type).\(target.column.name) would be set twice", hint: "map the field once")
    }
  }

  /// Adds the uuid and the timestamps, so that SQLite does not evaluate the table's defaults for each row. All
  /// records receive the same timestamps.
  private func addKept(to targets: inout [ImportTarget], at time: Date) {
    let now = time.sqlArgument
    for column in table.columns where !targets.contains(where: { $0.column.name == column.name }) {
      switch column.name {
      case "uuid" where column.type == .uuid:
        targets.append(ImportTarget(column: column, source: .newUUID, reference: nil, lookup: nil))
      case "createdAt" where column.type == .timestamp, "updatedAt" where column.type == .timestamp:
        targets.append(ImportTarget(column: column, source: .constant(now), reference: nil, lookup: nil))
      default: break
      }
    }
  }
}
