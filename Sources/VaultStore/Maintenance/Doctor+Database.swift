import SyncModel
import CipherSQL
import Platform

/// Checks of the database. Each check opens its own connection, because a connection that has met a damaged page
/// may refuse all further statements.
extension Doctor {
  func checkDatabase(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) throws {
    try report("Opening the database")
    let logBytes = Files.size(of: access.path + "-wal") ?? 0
    let opens = checkOpening(access, &diagnosis)
    let isCheckpointed = opens && checkLog(access, logBytes, &diagnosis)
    try report("Checking the pages")
    let arePagesWhole = checkPages(access, isComplete: isCheckpointed, &diagnosis)
    guard opens else { return diagnosis.unchecked.append("the tables: the database cannot be opened") }
    try report("Checking the tables and indexes")
    checkStructure(access, arePagesWhole: arePagesWhole, &diagnosis)
    try report("Checking the references")
    checkReferences(access, &diagnosis)
    try report("Checking full-text search")
    checkSearch(access, &diagnosis)
    checkSync(access, &diagnosis)
    try report("Checking the schema")
    checkSchema(access, &diagnosis)
    try report("Checking the attachments")
    try checkAttachments(access, &diagnosis)
  }

  private func checkOpening(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) -> Bool {
    do {
      try access.withDatabase { _ in }
      diagnosis.checked.append("the database opens with its key")
      return true
    } catch {
      let sql = error as? SQLError
      if sql?.code == .notADatabase {
        diagnosis.add(
          .damage, "opens", "the database does not open with its key: \(describe(error))",
          meaning: "its first page is damaged, or the file belongs to another vault",
          next: .advice("restore a backup"))
      } else if sql?.isDamage ?? false {
        diagnosis.add(
          .damage, "opens", "the database does not open: \(describe(error))",
          meaning: "the file is truncated, or the list of its tables is damaged",
          next: .restoreOrSalvage)
      } else {
        diagnosis.add(
          .warning, "opens", "the database cannot be opened: \(describe(error))",
          meaning: "the database could not be checked", next: .advice(sql?.hint ?? "see the message"))
      }
      return false
    }
  }

  /// Checkpoints the write-ahead log. Returns whether the whole log was copied into the database file.
  private func checkLog(_ access: DatabaseAccess, _ bytes: Int, _ diagnosis: inout Diagnosis) -> Bool {
    let holders = lock.otherHolders
    if bytes > 0, holders.isEmpty {
      diagnosis.add(
        .note, "log", "found a write-ahead log of \(bytes) bytes, although no other process has the vault open",
        meaning: "a program ended without closing the vault; no data is lost", next: .advice("no action needed"))
    }
    let isDone = (try? access.withDatabase { try $0.withWriter { try $0.checkpoint() } }) ?? false
    let size = Files.size(of: access.path + "-wal") ?? 0
    if !isDone {
      diagnosis.add(
        .warning, "log",
        "the write-ahead log of \(size) bytes cannot be checkpointed now"
          + (holders.isEmpty ? "" : ", because of \(holders.joined(separator: ", "))"),
        meaning: "the page check is incomplete: it reads the file without the log",
        next: .endReadersAndCheckVault)
    } else if size > 256 << 20 {
      diagnosis.add(
        .note, "log", "the write-ahead log has \(size >> 20) MiB", meaning: "opening the vault takes longer",
        next: .advice("close the vault in all programs"))
    }
    diagnosis.checked.append("the write-ahead log")
    return isDone
  }

  private func checkPages(_ access: DatabaseAccess, isComplete: Bool, _ diagnosis: inout Diagnosis) -> Bool {
    let problems: [String]
    do {
      problems = try access.openDamaged().problems(found: .pages, limit: 1000)
    } catch {
      diagnosis.add(
        .damage, "pages", "the pages cannot be checked: \(describe(error))",
        meaning: "the beginning of the file is damaged, or the file is not a database of this vault",
        next: .advice("restore a backup"))
      return false
    }
    if isComplete { diagnosis.checked.append("the authentication code of every page") }
    guard !problems.isEmpty else { return true }
    diagnosis.add(
      .damage, "pages", summary(problems),
      meaning: "these pages are damaged and their content is lost; all other pages can be read",
      next: .restoreOrSalvage)
    return false
  }

  private func checkStructure(_ access: DatabaseAccess, arePagesWhole: Bool, _ diagnosis: inout Diagnosis) {
    let found: [String]
    do {
      found = try access.withDatabase { try $0.read { try $0.problems(found: .indexes) } }
    } catch {
      return noteFailure(error, "structure", "the tables and indexes", arePagesWhole, &diagnosis)
    }
    diagnosis.checked.append("the tables, and each index against its table")
    // The full-text indexes have a separate, more thorough check.
    let problems = found.filter { !$0.contains("FTS5 table") }
    let indexes = problems.filter(Self.isAboutIndex)
    let values = problems.filter(Self.isAboutValue)
    let structure = problems.filter { !indexes.contains($0) && !values.contains($0) }
    if !indexes.isEmpty {
      diagnosis.add(
        .damage, "indexes", summary(indexes),
        meaning: "searches through the index miss records or find wrong ones; the records themselves are intact",
        next: .repairVault)
    }
    if !values.isEmpty {
      diagnosis.add(
        .warning, "values", summary(values), meaning: "the record violates the rules of its table",
        next: .correctRecord)
    }
    if !structure.isEmpty, arePagesWhole {
      diagnosis.add(
        .damage, "structure", summary(structure),
        meaning: "the pages are authentic but inconsistent; records may be missing",
        next: .restoreOrSalvage)
    }
  }

  static func isAboutIndex(_ problem: String) -> Bool {
    problem.contains("missing from index") || problem.contains("entries in index")
      || problem.contains("non-unique entry in index") || problem.contains("rowid not at end-of-record for row")
  }

  static func isAboutValue(_ problem: String) -> Bool {
    problem.hasPrefix("NULL value in") || problem.hasPrefix("CHECK constraint failed")
      || problem.hasPrefix("non-") && problem.contains(" value in ") || problem.hasPrefix("TEXT value in")
      || problem.hasPrefix("NUMERIC value in") || problem.hasPrefix("BLOB value in")
  }

  private func checkReferences(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) {
    do {
      let problems = try access.withDatabase { try $0.read { try $0.problems(found: .references) } }
      diagnosis.checked.append("every reference points to a record")
      guard !problems.isEmpty else { return }
      diagnosis.add(
        .warning, "references", summary(problems),
        meaning: "a record refers to a missing record; it is shown without the reference, and the server may refuse it",
        next: .correctReference)
    } catch {
      noteFailure(error, "references", "the references", diagnosis.findings("pages").isEmpty, &diagnosis)
    }
  }

  private func checkSearch(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) {
    do {
      let tables = try access.withDatabase { try $0.read { try SearchIndexes.all(in: $0) } }
      for table in tables {
        guard let problem = try access.withDatabase({ try SearchIndexes.problem(with: table, in: $0) }) else {
          continue
        }
        diagnosis.add(
          .warning, "search", "the full-text index \(table) is inconsistent: \(problem)",
          meaning: "searches miss records or find wrong ones; the records themselves are intact",
          next: .repairVault)
      }
      diagnosis.checked.append("full-text search: \(tables.count) \(tables.count == 1 ? "index" : "indexes")")
    } catch {
      noteFailure(error, "search", "full-text search", diagnosis.findings("pages").isEmpty, &diagnosis)
    }
  }

  private func checkSchema(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) {
    do {
      try access.withDatabase { database in
        let (sources, records) = try database.read {
          (try SchemaSource.read(from: $0), try MigrationRecord.all(in: $0))
        }
        let migrator = try Vault.migrator(for: sources, known: schemas, applied: records)
        checkPending(database, migrator, &diagnosis)
        report(try migrator.verify(database), &diagnosis)
      }
      diagnosis.checked.append("the schema against its recorded files")
    } catch {
      if (error as? SQLError)?.isDamage ?? false {
        return noteFailure(error, "schema", "the schema", diagnosis.findings("pages").isEmpty, &diagnosis)
      }
      diagnosis.add(
        .warning, "schema", "the schema cannot be compared: \(describe(error))",
        meaning: "the tables may differ from their schema files", next: .compareSchema)
    }
  }

  private func checkSync(_ access: DatabaseAccess, _ diagnosis: inout Diagnosis) {
    do {
      let (violations, unsendable) = try access.withDatabase { database in
        try database.read { connection -> ([String], [String]) in
          guard
            try connection.fetchOne("SELECT 1 FROM sqlite_schema WHERE name = 'OfflineSyncQueue'", as: Int.self) != nil
          else { return ([], []) }
          let catalog = SyncCatalog(try Entities.read(from: connection))
          return (
            try VaultInvariants.violations(catalog, in: connection),
            try SyncInvariants(catalog: catalog, connection: connection).unsendable()
          )
        }
      }
      if !unsendable.isEmpty {
        diagnosis.add(
          .warning, "sync", "\(counted(unsendable.count, "operation")) cannot be sent: \(summary(unsendable))",
          meaning: "the server does not receive these changes",
          next: .changeValueOrDiscard)
      }
      if !violations.isEmpty {
        diagnosis.add(
          .warning, "sync", "records, outbox and conflicts are inconsistent: \(summary(violations))",
          meaning: "some changes may not reach the server, or may be sent needlessly", next: .repairVault
        )
      }
      diagnosis.checked.append("every change has an operation or a conflict")
      for reason in SyncInvariants.WaitingReason.allCases {
        let waiting = try access.withDatabase { database in
          try database.read { try SyncInvariants.waitingVersions(reason, in: $0) }
        }
        if waiting.isEmpty { continue }
        diagnosis.add(
          .note, "inbox", "versions from the server cannot be applied yet: \(summary(waiting))",
          meaning: "these records are outdated or missing in this vault",
          next: reason == .unknownEntity
            ? .migrate
            : .changeHolderOrMigrate
        )
      }
    } catch {
      noteFailure(error, "sync", "the outbox", diagnosis.findings("pages").isEmpty, &diagnosis)
    }
  }

  private func checkPending(_ database: Database, _ migrator: Migrator, _ diagnosis: inout Diagnosis) {
    do {
      let pending = try database.read { try migrator.pending(in: $0) }
      guard let first = pending.first else { return }
      diagnosis.add(
        .warning, "migrations",
        "\(counted(pending.count, "schema file")) not applied, starting with \(first.schema)/\(first.file.fileName)",
        meaning: "commands refuse to use the vault until it is updated",
        next: .migrate)
    } catch {
      diagnosis.add(
        .warning, "migrations", describe(error), meaning: "the vault cannot be updated",
        next: (error as? SQLError)?.hint.map(Remedy.advice) ?? .showMigrations)
    }
  }

  private func report(_ differences: [SchemaDifference], _ diagnosis: inout Diagnosis) {
    let derived = differences.filter(Self.isDerived)
    if !derived.isEmpty {
      diagnosis.add(
        .warning, "triggers", "objects derived from the schema differ: \(list(derived))",
        meaning: "changes or deletions may not be queued for sync, or search may be out of date",
        next: .repairVault)
    }
    let others = differences.filter { !Self.isDerived($0) }
    if !others.isEmpty {
      diagnosis.add(
        .warning, "schema", "the schema was changed manually: \(list(others))",
        meaning: "a later migration may fail, and rules of the schema files may not be enforced",
        next: .undoSchemaChanges)
    }
  }

  static func isDerived(_ difference: SchemaDifference) -> Bool {
    ["trigger", "index"].contains(difference.type) && difference.name.hasPrefix(DerivedTriggers.prefix)
  }

  private func list(_ differences: [SchemaDifference]) -> String {
    summary(differences.map { "\($0.type) \($0.name) is \($0.kind.rawValue)" })
  }

  /// Records that a check could not be completed.
  private func noteFailure(
    _ error: any Error, _ check: String, _ what: String, _ arePagesWhole: Bool, _ diagnosis: inout Diagnosis
  ) {
    diagnosis.unchecked.append("\(what): \(describe(error))")
    let isDamage = (error as? SQLError)?.isDamage ?? false
    // Damaged pages were already reported. Their follow-up errors in other checks add no information.
    guard arePagesWhole else { return }
    diagnosis.add(
      isDamage ? .damage : .warning, check, "the check of \(what) is incomplete: \(describe(error))",
      meaning: isDamage ? "a part of the database cannot be read" : "problems in this part may be missed",
      next: isDamage
        ? .restoreOrSalvage
        : (error as? SQLError)?.hint.map(Remedy.advice) ?? .checkVaultAgain)
  }

  func describe(_ error: any Error) -> String {
    switch error {
    case let error as SQLError: error.message
    case let error as VaultError: error.message
    case let error as FileError: error.message
    default: "\(error)"
    }
  }

  private func summary(_ problems: [String]) -> String {
    let shown = problems.prefix(5).joined(separator: "; ")
    return problems.count > 5 ? "\(shown); and \(problems.count - 5) more" : shown
  }
}
