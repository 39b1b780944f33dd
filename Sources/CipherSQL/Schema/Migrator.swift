import CSQLCipher
import Platform

/// Migrates a database to a list of schemas.
///
/// Each file runs in one transaction, with all foreign keys checked before its commit, and is recorded in the table
/// `SchemaMigration` with its text and checksum. The statements of an applied file must never change: a change of the
/// schema is a new file. Files contain no BEGIN, COMMIT, PRAGMA, ATTACH or VACUUM.
///
/// - A crash leaves each file applied completely or not at all. The next call continues after the last applied file.
public struct Migrator: Sendable {
  /// The schemas in the order in which they are applied. A schema may reference tables of the schemas before it.
  public let schemas: [Schema]
  /// Called in the transaction of each file, before the file runs. It drops objects that would obstruct the file.
  public let willApply: @Sendable (WriteConnection) throws -> Void
  /// Called in the transaction of each file, after the file has run. It moves rows that depend on the names of tables and
  /// columns.
  public let didApply: @Sendable (WriteConnection, MigrationFile) throws -> Void
  /// Called in the transaction of a file, after ``didApply``. It creates objects that are derived from the tables. In a
  /// draft it is called for the last pending file only.
  public let derive: @Sendable (WriteConnection, MigrationFile) throws -> Void
  /// Called in a transaction of its own after the last pending file, and not without a pending file. Unlike in the transactions of
  /// files, foreign keys are enforced, and their actions run. A crash may prevent the call.
  public let didApplyAll: @Sendable (WriteConnection) throws -> Void

  /// Called by ``verify(_:)`` with the database and with a database that was rebuilt from its files. It adds the
  /// objects that are derived from rows of the database.
  public let didRebuild: @Sendable (Connection, WriteConnection) throws -> Void

  /// Called in the transaction of each file before ``didApply``, with the file, and whether it is the last one of its
  /// schema. It refuses the tables by a ``SchemaViolation``. ``verify(_:)`` does not call it, because the tables of an
  /// earlier version stay.
  package var check: @Sendable (WriteConnection, MigrationFile, _ isLast: Bool) throws -> Void = { _, _, _ in }

  /// Creates a migrator. No file is read before ``pending(in:)`` or ``apply(to:isDraft:progress:)``.
  /// - Parameters:
  ///   - schemas: the schemas in the order in which they are applied.
  ///   - willApply: called in the transaction of each file, before the file runs. An error rolls the transaction
  ///     back.
  ///   - didApply: called in the transaction of each file, after the file has run. An error rolls the transaction
  ///     back.
  ///   - derive: called after `didApply` to create objects that are derived from the tables.
  ///   - didApplyAll: called after the last pending file, in a transaction with enforced foreign keys. An error rolls
  ///     this transaction back, and the files stay applied.
  ///   - didRebuild: called when a database is verified, with a database that was rebuilt from its files.
  public init(
    schemas: [Schema], willApply: @escaping @Sendable (WriteConnection) throws -> Void = { _ in },
    didApply: @escaping @Sendable (WriteConnection, MigrationFile) throws -> Void = { _, _ in },
    derive: @escaping @Sendable (WriteConnection, MigrationFile) throws -> Void = { _, _ in },
    didApplyAll: @escaping @Sendable (WriteConnection) throws -> Void = { _ in },
    didRebuild: @escaping @Sendable (Connection, WriteConnection) throws -> Void = { _, _ in }
  ) {
    (self.schemas, self.willApply, self.didApply, self.derive) = (schemas, willApply, didApply, derive)
    (self.didApplyAll, self.didRebuild) = (didApplyAll, didRebuild)
  }

  /// Returns the files that are not applied yet.
  /// - Throws: ``SQLError`` with `migration` for a missing or duplicate number, an applied file whose statements were
  ///   changed, or a database that is newer than these schemas.
  public func pending(in connection: Connection) throws -> [(schema: String, file: MigrationFile)] {
    try pending(after: MigrationRecord.all(in: connection))
  }

  /// Returns the files that are not among the applied ones.
  /// - Parameter records: all rows of the table `SchemaMigration`, by schema and version.
  /// - Throws: the errors of ``pending(in:)``.
  package func pending(after records: [MigrationRecord]) throws -> [(schema: String, file: MigrationFile)] {
    var pending: [(String, MigrationFile)] = []
    for schema in schemas {
      try checkNumbers(of: schema)
      let applied = records.filter { $0.schema == schema.name }
      if let newest = applied.last, newest.version > schema.migrations.count {
        throw SQLError(
          .migration,
          "the database is at version \(newest.version) of schema '\(schema.name)', but this program supports "
            + "versions up to \(schema.migrations.count)",
          hint: "use a newer program; nothing was changed")
      }
      for record in applied { try check(record, against: schema.migrations[record.version - 1], of: schema) }
      guard applied.map(\.version) == Array(1..<applied.count + 1) else {
        throw SQLError(
          .migration, "the database lacks a version of schema '\(schema.name)' but has a later one",
          hint: "restore a backup; the table SchemaMigration was changed by hand")
      }
      pending += schema.migrations.dropFirst(applied.count).map { (schema.name, $0) }
    }
    return pending
  }

  /// Applies the pending files.
  /// - Parameters:
  ///   - isDraft: whether nothing uses the database unless this call succeeds, as in a new vault. The derived objects are
  ///     then created once, after the last file, and a failed call leaves the database without them.
  ///   - progress: called before each file with its schema, the file and the number of pending files, including this
  ///     one.
  /// - Returns: the applied files.
  /// - Throws: the errors of ``pending(in:)``; ``SQLError`` with `migration` that names file, line and reason if a file
  ///   fails. The database then keeps the state after the previous file.
  @discardableResult
  public func apply(
    to database: Database, isDraft: Bool = false, progress: (String, MigrationFile, Int) -> Void = { _, _, _ in }
  ) throws -> [MigrationRecord] {
    try database.withMigrationWriter { connection in
      let done = try connection.withoutForeignKeys {
        var done: [MigrationRecord] = []
        let pending = try pending(in: connection)
        for (index, (schema, file)) in pending.enumerated() {
          progress(schema, file, pending.count - index)
          do {
            let record = try connection.inTransaction { () throws -> MigrationRecord? in
              // Another process may have applied the file in the meantime. Its text is compared as always.
              guard
                try self.pending(in: connection).contains(where: {
                  $0.schema == schema && $0.file.version == file.version
                })
              else { return nil }
              let derives = !isDraft || index == pending.count - 1
              return try run(file, of: schema, on: connection, derives: derives)
            }
            if let record { done.append(record) }
          } catch let problem as SchemaProblem {
            throw SQLError(
              .migration, "\(problem.schema)/\(problem.file.fileName):\(problem.line): \(problem.message)",
              hint: "correct the file; the database was not changed by it")
          }
        }
        return done
      }
      if !done.isEmpty { try connection.inTransaction { try didApplyAll(connection) } }
      return done
    }
  }

  /// Runs one file inside the open transaction.
  /// - Throws: ``SchemaProblem`` for a mistake in the file.
  @discardableResult
  func run(
    _ file: MigrationFile, of schema: String, on connection: WriteConnection, derives: Bool
  ) throws -> MigrationRecord {
    let clock = connection.environment.clock
    let start = clock.instant()
    try MigrationRecord.createTable(in: connection)
    try willApply(connection)
    do throws(Script.Failure) {
      try Script(file.sql).run(on: connection) { part throws(SQLError) in
        if Self.forbidden.contains(part.firstWord) {
          throw SQLError(
            .migration, "\(part.firstWord) is not allowed in a schema file, which runs as one transaction",
            hint: "remove it")
        }
      }
    } catch {
      throw Self.problem(error.error, line: error.line, of: file, schema)
    }
    try checkForeignKeys(after: file, of: schema, on: connection)
    try checkViews(after: file, of: schema, on: connection)
    try checkRules(after: file, of: schema, on: connection)
    try didApply(connection, file)
    if derives { try derive(connection, file) }
    let record = MigrationRecord(
      schema: schema, version: file.version, name: file.name, checksum: file.checksum, sql: file.sql,
      appliedAt: connection.environment.date,
      durationMilliseconds: (clock.instant() - start).milliseconds)
    try record.insert(into: connection)
    return record
  }

  /// Adds the place to an error that is caused by a mistake in a file. Other errors stay unchanged.
  private static func problem(_ error: SQLError, line: Int, of file: MigrationFile, _ schema: String) -> any Error {
    // A full disk, a cut connection or a lock is no mistake of the file.
    switch error.code {
    case .invalidSQL, .notAllowed, .constraint, .migration, .typeMismatch, .misuse, .notADatabase:
      SchemaProblem(
        schema: schema, file: file, line: line, message: error.hint.map { "\(error.message) (\($0))" } ?? error.message)
    default: error
    }
  }

  private static let forbidden: Set<String> = [
    "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "ATTACH", "DETACH", "VACUUM",
  ]

  private func checkForeignKeys(after file: MigrationFile, of schema: String, on connection: Connection) throws {
    let broken: [(String, String, Int)]
    do {
      broken = try connection.fetchRows(
        "SELECT \"table\", \"parent\", count(*) FROM pragma_foreign_key_check GROUP BY 1, 2",
        as: String.self, String.self, Int.self)
    } catch let error as SQLError {
      // A reference to columns that are missing or not unique cannot be checked.
      throw Self.problem(error, line: 1, of: file, schema)
    }
    guard let first = broken.first else { return }
    throw SchemaProblem(
      schema: schema, file: file, line: 1,
      message: "after this file \(first.2) rows of \(first.0) would refer to rows of \(first.1) that do not exist")
  }

  /// Checks that the views can be read. A view may be created before the tables that it reads.
  private func checkViews(after file: MigrationFile, of schema: String, on connection: Connection) throws {
    for view in try connection.fetch("SELECT name FROM sqlite_schema WHERE type = 'view'", as: String.self) {
      do {
        _ = try connection.fetch("SELECT name FROM pragma_table_xinfo(\(view))", as: String.self)
      } catch let error as SQLError where error.code == .invalidSQL {
        let lines = file.sql.split(separator: "\n", omittingEmptySubsequences: false)
        throw SchemaProblem(
          schema: schema, file: file, line: 1 + (lines.firstIndex { $0.contains(view) } ?? 0),
          message: "after this file the view \(view) cannot be read: \(error.message)")
      }
    }
  }

  private func checkRules(after file: MigrationFile, of schema: String, on connection: WriteConnection) throws {
    let own = schemas.first { $0.name == schema }?.migrations ?? []
    do {
      try Self.checkNames(in: connection)
      try check(connection, file, own.last?.version == file.version)
    } catch let violation as SchemaViolation {
      let others = schemas.filter { $0.name != schema }.flatMap { other in other.migrations.map { (other.name, $0) } }
      let files = others + own.filter { $0.version <= file.version }.map { (schema, $0) }
      throw violation.problem(in: files, after: file, schema)
    }
  }

  private func checkNumbers(of schema: Schema) throws {
    for (index, file) in schema.migrations.enumerated() where file.version != index + 1 {
      let isDuplicate = index > 0 && file.version == schema.migrations[index - 1].version
      throw SQLError(
        .migration,
        isDuplicate
          ? "\(schema.name)/\(file.fileName): version \(file.version) appears twice"
          : "\(schema.name)/\(file.fileName): version \(index + 1) is missing before it",
        hint: "number the files 0001, 0002, ... without a gap")
    }
  }

  private func check(_ record: MigrationRecord, against file: MigrationFile, of schema: Schema) throws {
    let place = "\(schema.name)/\(file.fileName)"
    guard record.name == file.name else {
      throw SQLError(
        .migration, "\(place): was named \(record.name) when it was applied", hint: "restore the old file name")
    }
    // Equal bytes need no checksum, and comparing them is faster.
    guard !file.isUnchanged(since: record.sql), record.checksum != file.checksum,
      let line = file.firstChange(since: record.sql)
    else { return }
    throw SQLError(
      .migration, "\(place):\(line): the file was changed after it was applied at \(record.appliedAt.sqlText)",
      hint: "undo the change, and put the new statements into a new file with the next number")
  }
}

extension WriteConnection {
  /// Runs a body without enforcement of references, because rebuilding a table must not fire cascades. SQLite documents
  /// this order in https://sqlite.org/lang_altertable.html#otheralter. The setting has no effect inside a transaction.
  func withoutForeignKeys<Result>(_ body: () throws -> Result) throws -> Result {
    try switching("foreign_keys", to: false, during: body)
  }

  /// Runs a body that may leave rows that break a CHECK. The caller corrects them in the same transaction.
  package func withoutChecks<Result>(_ body: () throws -> Result) throws -> Result {
    try switching("ignore_check_constraints", to: true, during: body)
  }

  func switching<Result>(_ name: String, to isOn: Bool, during body: () throws -> Result) throws -> Result {
    func set(_ isOn: Bool) throws { try pragma("PRAGMA \(name) = \(isOn ? "ON" : "OFF")") }
    try set(isOn)
    let result: Result
    do {
      result = try body()
    } catch {
      try set(!isOn)
      throw error
    }
    try set(!isOn)
    return result
  }
}

extension Database {
  /// Runs a body on the writing connection outside a transaction, for statements that may change objects of schemas.
  /// Observers are notified afterwards that any table may have changed.
  func withMigrationWriter<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try writer.withConnection(for: "write") { connection in
      let result = try connection.asMigration { try body(connection) }
      hub.publish(ChangedRegion(isEverything: true), after: connection)
      return result
    }
  }

  /// Runs a body in one transaction that may change objects of schemas, without enforcement of references.
  package func writeAsMigration<Result>(_ body: (WriteConnection) throws -> Result) throws -> Result {
    try withMigrationWriter { connection in
      try connection.withoutForeignKeys { try connection.inTransaction { try body(connection) } }
    }
  }
}
