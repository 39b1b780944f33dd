import CipherSQL
import Platform

/// Copies the readable rows of every table.
struct SalvageFiller {
  let source: DatabaseAccess
  let target: Database
  let definitions: Definitions
  let report: (String) throws -> Void

  /// The number of failed reads of a table after which damaged ranges are no longer halved. Each read opens the
  /// file again.
  private static let failureLimit = 1500

  /// A table of the new database.
  private struct Shape {
    let name: String
    /// The name by which the rowid can be addressed; `nil` for a table without a rowid.
    let rowID: String?
    /// The columns that can be written.
    let columns: [String]
  }

  func run() throws -> [SalvagedTable] {
    try target.withWriter { writer in
      try writer.set(.foreignKeys(false))
      // A row that violates a CHECK is better than a lost row.
      try writer.set(.ignoresChecks(true))
    }
    var saved: [SalvagedTable] = []
    for shape in try shapes() {
      try report("Saving \(shape.name)")
      saved.append(try Definitions.write(to: target) { try copy(shape, to: $0) })
    }
    try target.withWriter { writer in
      try writer.set(.ignoresChecks(false))
      try writer.set(.foreignKeys(true))
    }
    let lostTables = definitions.items.filter { item in
      item.type == "table" && !item.name.hasPrefix("sqlite_") && !saved.contains { $0.name == item.name }
    }
    return saved
      + lostTables.filter { isLost($0) }.map { item in
        var table = SalvagedTable(item.name)
        table.hasUnknownLoss = true
        return table
      }
  }

  /// Returns whether the new database lacks a table of the damaged one. Full-text tables are rebuilt and therefore
  /// exist.
  private func isLost(_ item: Definitions.Item) -> Bool {
    (try? target.read { try !Definitions.names(in: $0).contains(item.name) }) ?? false
  }

  private func shapes() throws -> [Shape] {
    try target.read { connection in
      let tables = try connection.fetchRows(
        """
        SELECT list.name, list.type, list.wr, master.sql
        FROM pragma_table_list AS list JOIN sqlite_schema AS master ON master.name = list.name
        WHERE list.schema = 'main' AND list.type IN ('table', 'virtual')
          AND (list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR list.name = 'sqlite_sequence')
        ORDER BY master.rowid
        """, as: String.self, String.self, Bool.self, String.self)
      return try tables.compactMap { name, type, isWithoutRowID, sql in
        // The index is rebuilt from its content table.
        if type == "virtual", Catalog.contentTable(ofVirtualTable: sql) != nil { return nil }
        let columns = try connection.fetch(
          "SELECT name FROM pragma_table_xinfo(\(name)) WHERE hidden = 0 ORDER BY cid", as: String.self)
        let rowID = ["rowid", "_rowid_", "oid"].first { word in !columns.contains { $0.lowercased() == word } }
        return Shape(name: name, rowID: isWithoutRowID ? nil : rowID, columns: columns)
      }
    }
  }

  private func copy(_ shape: Shape, to writer: WriteConnection) throws -> SalvagedTable {
    var table = SalvagedTable(shape.name)
    guard let columns = commonColumns(shape), !columns.isEmpty else {
      table.hasUnknownLoss = true
      return table
    }
    // Rows that the schema files insert are kept only where the damaged table lacks them.
    let name = SQL.quoted(shape.name)
    let list = shape.columns.map(SQL.quoted).joined(separator: ", ")
    try writer.execute(SQL(raw: "CREATE TEMP TABLE salvage_seed AS SELECT \(list) FROM \(name)"))
    try writer.execute(SQL(raw: "DELETE FROM \(name)"))
    if let rowID = shape.rowID {
      try copyByRowID(shape.name, rowID, columns, to: writer, &table)
    } else {
      try copyFromBothEnds(shape.name, columns, to: writer, &table)
    }
    if !table.isWhole {
      try writer.execute(SQL(raw: "INSERT OR IGNORE INTO \(name) (\(list)) SELECT * FROM temp.salvage_seed"))
      table.reseeded = writer.changedRowCount
    }
    try writer.execute("DROP TABLE temp.salvage_seed")
    return table
  }

  /// Returns the columns that both databases have; `nil` when the damaged table cannot be read.
  private func commonColumns(_ shape: Shape) -> [String]? {
    let old = try? source.openDamaged().fetch(
      "SELECT name FROM pragma_table_xinfo(\(shape.name)) WHERE hidden = 0", as: String.self)
    return old.map { old in shape.columns.filter(old.contains) }
  }

  // MARK: By rowid

  private func copyByRowID(
    _ name: String, _ rowID: String, _ columns: [String], to writer: WriteConnection, _ table: inout SalvagedTable
  ) throws {
    let list = columns.map(SQL.quoted).joined(separator: ", ")
    let quoted = SQL.quoted(name)
    let select = "SELECT \(rowID), \(list) FROM \(quoted) WHERE \(rowID) BETWEEN "
    let hasAlias = try isAlias(quoted, rowID, columns, writer)
    let insert =
      hasAlias
      ? "INSERT INTO \(quoted) (\(list)) VALUES (\(marks(columns.count)))"
      : "INSERT INTO \(quoted) (\(rowID), \(list)) VALUES (\(marks(columns.count + 1)))"
    guard let bounds = bounds(name, rowID) else { return }
    var open = [bounds]
    var lost: [ClosedRange<Int64>] = []
    var failures = 0
    while let range = Self.takeWidest(&open) {
      let query = SQL(raw: select) + "\(range.lowerBound) AND \(range.upperBound) ORDER BY 1"
      let copied = try source.openDamaged().copyRows(of: query, to: writer, insert, firstBound: hasAlias ? 1 : 0)
      table.rows += copied.rows
      table.refused += copied.refused
      guard let failure = copied.failure else { continue }
      try Self.refuse(failure)
      // The damage follows the last row of this range, so it belongs to the next range.
      guard copied.last != range.upperBound else { continue }
      let rest = (copied.last.map { $0 + 1 } ?? range.lowerBound)...range.upperBound
      failures += 1
      if rest.upperBound == .max, let guess = guessedBound(behind: rest.lowerBound) {
        // Treat the rowids above the guess as one range, because halving it would take too many reads.
        if try !isReadable(name, rowID, behind: guess) { lost.append(guess + 1...Int64.max) }
        open.append(rest.lowerBound...guess)
      } else if rest.lowerBound == rest.upperBound || failures > Self.failureLimit {
        lost.append(rest)
      } else {
        open += Self.halves(of: rest)
      }
    }
    table.lost = Self.merged(lost)
  }

  /// Rethrows an error that is not caused by damage; it does not count as a loss.
  private static func refuse(_ failure: SQLError) throws {
    if !failure.isDamage { throw failure }
  }

  /// Returns whether a column is an alias of the rowid, which must then not be written twice.
  private func isAlias(
    _ quoted: String, _ rowID: String, _ columns: [String], _ connection: Connection
  ) throws -> Bool {
    try connection.withStatement("SELECT \(rowID) FROM \(quoted)") { statement in
      // SQLite reports the name of the column that aliases the rowid.
      columns.contains(statement.columnName(at: 0))
    }
  }

  /// Returns the smallest and the largest rowid, read from the table or, if that fails, from an index. An
  /// unreadable end defaults to 1 or `Int64.max`. Returns `nil` for an empty table.
  private func bounds(_ name: String, _ rowID: String) -> ClosedRange<Int64>? {
    let (lower, upper) = (bound("min", name, rowID), bound("max", name, rowID))
    if lower == .empty || upper == .empty { return nil }
    let smallest = if case .at(let rowID) = lower { rowID } else { Int64(1) }
    let largest = if case .at(let rowID) = upper { rowID } else { Int64.max }
    return min(smallest, largest)...largest
  }

  private enum Bound: Equatable {
    case unknown, empty
    case at(Int64)
  }

  private func bound(_ function: String, _ name: String, _ rowID: String) -> Bound {
    let quoted = SQL.quoted(name)
    let indexes =
      (try? source.openDamaged().fetch(
        "SELECT name FROM pragma_index_list(\(name)) WHERE partial = 0", as: String.self)) ?? []
    for place in [""] + indexes.map({ " INDEXED BY \(SQL.quoted($0))" }) {
      let query = SQL(raw: "SELECT \(function)(\(rowID)) FROM \(quoted)\(place)")
      if let value = try? source.openDamaged().fetchOne(query, as: Int64?.self) { return value.map(Bound.at) ?? .empty }
    }
    return .unknown
  }

  /// Returns a rowid above which rows are unlikely, because the file is too small to contain so many rows.
  private func guessedBound(behind rowID: Int64) -> Int64? {
    guard let size = Files.size(of: source.path) else { return nil }
    let (bound, isTooLarge) = rowID.addingReportingOverflow(Int64(size / 16) + 1)
    return isTooLarge || bound == .max ? nil : bound
  }

  private func isReadable(_ name: String, _ rowID: String, behind bound: Int64) throws -> Bool {
    let query = SQL(raw: "SELECT \(rowID) FROM \(SQL.quoted(name)) WHERE \(rowID) > ") + "\(bound) LIMIT 1"
    do {
      // A row above the bound means that the rowids are sparse; the range then counts as lost.
      return try source.openDamaged().fetchOne(query, as: Int64.self) == nil
    } catch let error as SQLError {
      try Self.refuse(error)
      return false
    }
  }

  /// Removes and returns the widest range. Intact ranges are thus saved before damaged places are narrowed down.
  static func takeWidest(_ ranges: inout [ClosedRange<Int64>]) -> ClosedRange<Int64>? {
    let widths = ranges.map { UInt64(bitPattern: $0.upperBound &- $0.lowerBound) }
    guard let widest = widths.max(), let index = widths.firstIndex(of: widest) else { return nil }
    return ranges.remove(at: index)
  }

  static func halves(of range: ClosedRange<Int64>) -> [ClosedRange<Int64>] {
    let width = UInt64(bitPattern: range.upperBound &- range.lowerBound)
    let middle = range.lowerBound &+ Int64(bitPattern: width / 2)
    return [range.lowerBound...middle, middle + 1...range.upperBound]
  }

  /// Returns the ranges sorted, with adjacent ranges joined.
  static func merged(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
    var merged: [ClosedRange<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, last.upperBound < Int64.max, last.upperBound + 1 == range.lowerBound {
        merged[merged.count - 1] = last.lowerBound...range.upperBound
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  // MARK: Without rowid

  /// Reads forward to the first damaged page and backward to the last one.
  private func copyFromBothEnds(
    _ name: String, _ columns: [String], to writer: WriteConnection, _ table: inout SalvagedTable
  ) throws {
    let quoted = SQL.quoted(name)
    let list = columns.map(SQL.quoted).joined(separator: ", ")
    let key = try writer.fetch(
      "SELECT name FROM pragma_table_xinfo(\(name)) WHERE pk > 0 ORDER BY pk", as: String.self
    ).map(SQL.quoted)
    let insert = "INSERT INTO \(quoted) (\(list)) VALUES (\(marks(columns.count)))"
    for direction in ["", " DESC"] {
      let order = key.map { $0 + direction }.joined(separator: ", ")
      let query = SQL(raw: "SELECT \(list) FROM \(quoted)" + (order.isEmpty ? "" : " ORDER BY \(order)"))
      let copied = try source.openDamaged().copyRows(of: query, to: writer, insert)
      table.rows += copied.rows
      table.refused += copied.refused
      guard let failure = copied.failure else { return }
      try Self.refuse(failure)
      table.hasUnknownLoss = true
    }
  }

  private func marks(_ count: Int) -> String { Array(repeating: "?", count: count).joined(separator: ", ") }
}
