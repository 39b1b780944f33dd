import CipherSQL
import Outbox
import Platform
import RecordStore
import SchemaModel
import SyncModel

extension Vault {
  /// Imports records from a database file of another program, such as SQLite, GRDB or Core Data, in one transaction. The
  /// file is read in one state and stays unchanged. Memory use does not grow with the rows.
  ///
  /// References become references to the imported records. Rows without a UUID get one that depends on the name of the
  /// source, the table and the key, so that another import of the file finds its records again. A record that the vault
  /// has with equal values is left alone.
  /// - Parameters:
  ///   - path: the file, which must not be encrypted.
  ///   - confirm: receives the plan before anything is written. The import ends if it returns `false`.
  ///   - progress: receives the number of rows that were read since the last call. It may throw to cancel.
  /// - Returns: the imported records; `nil` if `confirm` returned `false`.
  /// - Throws: ``DatabaseImportRefused`` with the refused rows; ``VaultError`` with `unreadable` for a file that cannot be
  ///   read or is encrypted, `damaged` for a damaged one, `busy` if another program changed it meanwhile, and the errors
  ///   of names and options. Nothing is imported then.
  @available(*, noasync, message: "call this from a dedicated thread in asynchronous code")
  public func importDatabase(
    at path: String, _ options: DatabaseImportOptions = DatabaseImportOptions(),
    confirm: (DatabaseImportPlan) throws -> Bool = { _ in true }, progress: (_ rows: Int) throws -> Void = { _ in }
  ) throws -> DatabaseImportResult? {
    do {
      let file = try SourceFailure.naming { try PlainFile(path: path) }
      return try file.read { source in
        let (plan, tables) = try planImport(of: file, source, named: path, options)
        guard try confirm(plan) else { return nil }
        return try database.write { connection in
          let result = try importTables(tables, source, connection, progress)
          // A change that was read without locks undoes the transaction.
          try SourceFailure.naming { try file.checkUnchanged() }
          return result
        }
      }
    } catch let failure as SourceFailure {
      throw failure.vaultError(reading: path)
    }
  }

  private func planImport(
    of file: PlainFile, _ source: Connection, named path: String, _ options: DatabaseImportOptions
  ) throws -> (DatabaseImportPlan, [SourceRows]) {
    let tables = try SourceFailure.naming { try SourceDatabase(source) }
    let sourceName = options.sourceName ?? tables.storeUUID ?? file.path
    let matches = try database.read { connection in
      try SourceMatching(
        source: tables, file: path, entities: entities, options: options, connection: connection
      ).matches()
    }
    let values = SourceValue(
      times: options.times ?? (tables.kind == .coreData ? .apple : nil), nullText: options.nullText)
    let chosen = try options.entityType.map { try entities.entity($0).type }
    let imported = entities.referencedFirst(matches.map(\.entity)).compactMap { entity in
      matches.first { $0.entity.type == entity.type && (chosen == nil || chosen == entity.type) }
    }
    let rows = imported.map { match in
      SourceRows(match, among: matches, tables: tables.tables, sourceName: sourceName, values: values)
    }
    let counts = try SourceFailure.naming { try rows.map { try $0.count(in: source) } }
    let plan = DatabaseImportPlan(
      kind: tables.kind, sourceName: sourceName,
      tables: zip(imported, counts).map { match, count in
        let fields = match.fields.map { ($0.column.name, $0.source) } + (match.uuidColumn.map { [("uuid", $0)] } ?? [])
        // Other entities of the same Core Data table have columns of their own.
        let others = imported.filter { $0.table.storage == match.table.storage }.flatMap { $0.fields.map(\.source) }
        return DatabaseImportPlan.Table(
          entityType: match.entity.type, table: match.table.name, rows: count, fields: fields,
          key: match.table.key.filter { key in !fields.contains { SourceName.isSame($0.1, key) } },
          ignoredColumns: match.ignoredColumns.filter { name in !others.contains { SourceName.isSame($0, name) } })
      },
      ignoredTables: chosen != nil
        ? []
        : tables.tables.map(\.name).filter { name in !matches.contains { SourceName.isSame($0.table.name, name) } })
    return (plan, rows)
  }

  // MARK: Records

  private func importTables(
    _ tables: [SourceRows], _ source: Connection, _ connection: WriteConnection, _ progress: (Int) throws -> Void
  ) throws -> DatabaseImportResult {
    var result = DatabaseImportResult()
    var partial: [SourceRows] = []
    for table in tables {
      let (count, isPartial) = try add(table, source, connection, progress)
      result.counts.append(count)
      if isPartial { partial.append(table) }
    }
    // The operations of the records are queued already and send the records as they are later.
    for table in partial {
      let intake = RecordIntake(connection: connection, table: table.match.records)
      try WriteMode.sync(on: connection) {
        try collect(table, source, connection, { _ in }) {
          if case .record(let object) = $0 { try intake.complete(object) }
        }
      }
    }
    return result
  }

  /// - Returns: the counts, and whether records lack references to records that follow.
  private func add(
    _ table: SourceRows, _ source: Connection, _ connection: WriteConnection, _ progress: (Int) throws -> Void
  ) throws -> (DatabaseImportResult.Count, isPartial: Bool) {
    let entity = table.match.entity
    let intake = RecordIntake(connection: connection, table: table.match.records)
    var count = DatabaseImportResult.Count(entityType: entity.type)
    var isPartial = false
    try WriteMode.queueingAtOnce(entity, in: entities, on: connection) {
      try collect(table, source, connection, progress) { outcome in
        switch outcome {
        case .deleted: count.deleted += 1
        case .problems: break
        case .record(let object):
          switch try intake.add(object) {
          case .added, .changedSeed: count.imported += 1
          case .addedInPart: (count.imported, isPartial) = (count.imported + 1, true)
          case .present: count.present += 1
          }
        }
      }
    }
    return (count, isPartial)
  }

  /// Reads the rows of a table, and throws the problems of all of them together.
  private func collect(
    _ table: SourceRows, _ source: Connection, _ connection: WriteConnection, _ progress: (Int) throws -> Void,
    _ take: (SourceRows.Outcome) throws -> Void
  ) throws {
    var refused = DatabaseImportRefused()
    var read = 0
    try table.forEach(in: source) { outcome, name in
      if case .problems(let problems) = outcome { problems.forEach { refused.add($0) } }
      do {
        try take(outcome)
      } catch let error as VaultError where [.badValue, .refused].contains(error.code) {
        refused.add(table.match.problem(error, row: name))
      }
      read += 1
      if read & 255 == 0 {
        try connection.throwIfCancelled()
        try progress(256)
      }
    }
    try progress(read & 255)
    if refused.problemCount > 0 { throw refused }
  }
}

extension SourceMatch {
  /// Returns the refusal of a record as a problem of its row.
  fileprivate func problem(_ error: VaultError, row: String) -> DatabaseImportProblem {
    let prefix = error.name.map { "\(entity.type).\($0) " } ?? ""
    let field = fields.first { $0.column.name == error.name }
    return DatabaseImportProblem(
      table: table.name, row: row, column: field?.source, field: error.name,
      message: error.message.hasPrefix(prefix) ? String(error.message.dropFirst(prefix.count)) : error.message)
  }
}

extension SourceFailure {
  /// Returns the failure as an error that names the file.
  fileprivate func vaultError(reading path: String) -> any Error {
    if error.code == .damaged {
      return VaultError(
        .damaged, "\(path) is damaged: \(error.message)",
        hint: "save the readable rows with the command .recover of the sqlite3 shell, and import the result")
    }
    switch error.code {
    case .notADatabase, .cannotOpen, .readOnly, .inputOutput:
      return VaultError(.unreadable, error.message, hint: error.hint)
    case .busy:
      return VaultError(
        .busy, error.message.contains(path) ? error.message : "another program is writing to \(path)",
        hint: "close that program, or try again")
    default:
      return VaultError(.unreadable, "cannot read \(path): \(error.message)", remedy: error.hint.map(Remedy.advice))
    }
  }
}
