import CipherSQL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a repair did.
public struct RepairReport: Sendable {
  /// Each thing that was done, in words.
  public internal(set) var done: [String] = []
  /// Each thing that could not be done, in words.
  public internal(set) var failed: [String] = []
  /// What was saved into a new vault; nil when that was not needed, or failed.
  public internal(set) var salvaged: SalvageReport?
}

extension Doctor {
  /// Examines the vault again after a repair. A damaged vault is as it was: what could be read is in another one, and a second
  /// repair would save the same.
  public func examine(after repair: RepairReport) throws -> Diagnosis {
    var diagnosis = try examine()
    guard let salvaged = repair.salvaged else { return diagnosis }
    diagnosis.findings = diagnosis.findings.map { finding in
      guard finding.severity == .damage else { return finding }
      return Finding(
        .damage, finding.check, what: finding.what, meaning: finding.meaning,
        next: "go on with \(salvaged.vault), and keep this vault as it is")
    }
    return diagnosis
  }

  /// Mends what can be mended without losing anything: leftovers, permissions, files of no record, indexes, full-text
  /// search, derived triggers. Work on the database is done on a copy first, and on the database itself when the copy is well then.
  /// Where pages are damaged, what can be read is saved into a new vault beside this one, which stays as it is.
  /// - Parameter diagnosis: what ``examine()`` found.
  /// - Throws: ``VaultError`` with `busy` when a salvage needs the vault for itself, with `noSpace`; `SQLError`.
  public func repair(_ diagnosis: Diagnosis) throws -> RepairReport {
    var repair = RepairReport()
    let held = try KeyringLock(folder: layout.folder)
    defer { withExtendedLifetime(held) {} }
    try report("Mending the files")
    sweep(&repair)
    mendPermissions(&repair)
    guard let keys else { return repair }
    let access = DatabaseAccess(
      path: layout.database(generation: keys.keyring.generation.number), key: GuardedKey(bytes: keys.databaseKey))
    let damaged = diagnosis.findings.filter { $0.severity == .damage }.map(\.check)
    if damaged.contains(where: { ["opens", "pages", "structure", "references", "search", "schema"].contains($0) }) {
      try salvage(&repair)
    } else if Files.exists(access.path) {
      try mendDatabase(access, RepairPlan(diagnosis), &repair)
      if !diagnosis.findings("attachments").isEmpty { sweepAttachments(access, &repair) }
    }
    return repair
  }

  private func sweep(_ repair: inout RepairReport) {
    // The keyring that makes old generations leftovers has to be on the disk before they go.
    do throws(VaultError) {
      try Files.syncFolder(layout.folder)
    } catch {
      repair.failed.append(error.message)
      return
    }
    // Nobody makes a draft beside the vault while it is looked for.
    let makers = KeyringLock(ifFree: VaultLayout.parent(of: layout.folder))
    defer { withExtendedLifetime(makers) {} }
    for path in ownOrphans() where makers != nil || !path.hasSuffix(".making") {
      do throws(VaultError) {
        try Files.removeTree(path)
        repair.done.append("removed \(path), a leftover of interrupted work")
      } catch {
        repair.failed.append(error.message)
      }
    }
  }

  private func mendPermissions(_ repair: inout RepairReport) {
    for item in looseItems() {
      if chmod(item.path, item.wanted) == 0 {
        repair.done.append("gave \(item.path) the mode \(Self.octal(item.wanted)); it had \(Self.octal(item.mode))")
      } else {
        repair.failed.append(FileProblem.current("change the mode of", item.path).message)
      }
    }
  }

  private func salvage(_ repair: inout RepairReport) throws {
    guard let keys else { return }
    // Nobody writes into the damaged vault meanwhile.
    try lock.makeExclusive()
    let result = Result { try Salvage(layout: layout, keys: keys, schemas: schemas, report: report).run() }
    try lock.makeShared()
    do {
      let saved = try result.get()
      repair.salvaged = saved
      let rows = saved.tables.reduce(0) { $0 + $1.rows }
      repair.done.append("saved \(counted(rows, "row")) of \(counted(saved.tables.count, "table")) into \(saved.vault)")
    } catch let error as VaultError {
      guard error.code == .damaged else { throw error }
      repair.failed.append(error.message)
    }
  }

  // MARK: The database

  /// What is to be mended in a database.
  struct RepairPlan {
    let indexes: Bool
    let search: Bool
    let triggers: Bool
    let sync: Bool

    init(_ diagnosis: Diagnosis) {
      indexes = !diagnosis.findings("indexes").isEmpty
      search = !diagnosis.findings("search").isEmpty
      triggers = !diagnosis.findings("triggers").isEmpty
      sync = !diagnosis.findings("sync").isEmpty
    }

    var isEmpty: Bool { !indexes && !search && !triggers && !sync }

    /// What was done, in words.
    var actions: [String] {
      (indexes ? ["made all indexes anew from their tables"] : [])
        + (search ? ["made full-text search anew from its records"] : [])
        + (triggers ? ["made the derived triggers anew"] : [])
        + (sync ? ["queued what had no operation"] : [])
    }

    func apply(to database: Database) throws {
      try database.write { connection in
        if indexes { try connection.execute("REINDEX") }
        if triggers {
          try DerivedTriggers.drop(in: connection)
          try DerivedTriggers.create(in: connection)
        }
        if sync {
          try SyncInvariants.restore(SyncCatalog(try Entities.read(from: connection)), on: connection)
        }
        if search {
          for index in try SearchIndexes.all(in: connection) { try SearchIndexes.rebuild(index, on: connection) }
        }
      }
    }
  }

  private func mendDatabase(_ access: DatabaseAccess, _ mending: RepairPlan, _ repair: inout RepairReport) throws {
    if mending.isEmpty { return }
    let size = (Files.size(of: access.path) ?? 0) + (Files.size(of: access.path + "-wal") ?? 0)
    // The copy, and its log, which may hold everything once more.
    guard try Files.freeBytes(at: layout.databases) > 2 * size + (1 << 20) else {
      throw VaultError(
        .noSpace, "a repair is tried on a copy first, which needs \(2 * size) bytes", hint: "free some space")
    }
    try Files.removeTree(repairFolder)
    try Files.makeFolder(repairFolder)
    // When this fails too, the next repair removes the rest.
    defer { try? Files.removeTree(repairFolder) }
    let copy = DatabaseAccess(path: repairFolder + "/vault.db", key: access.key)
    try report("Copying the database")
    try Files.makeFile(copy.path)
    try access.withDatabase { try $0.read { try $0.copyPages(to: copy.path, key: copy.key) } }
    try report("Trying the repair on the copy")
    if let problem = try problem(after: mending, of: copy) {
      repair.failed.append("tried on a copy, and not done, because the copy was not well then: \(problem)")
      return
    }
    try report("Repairing the database")
    try access.withDatabase { try mending.apply(to: $0) }
    repair.done += mending.actions
  }

  /// Mends a copy; what is still wrong with it.
  private func problem(after mending: RepairPlan, of copy: DatabaseAccess) throws -> String? {
    do {
      try copy.withDatabase { try mending.apply(to: $0) }
    } catch let error as SQLError {
      return error.message
    }
    var diagnosis = Diagnosis()
    try checkDatabase(copy, &diagnosis)
    let mended = [
      "indexes": mending.indexes, "search": mending.search, "triggers": mending.triggers, "sync": mending.sync,
    ]
    return diagnosis.findings.first { mended[$0.check] ?? false || $0.severity == .damage }?.what
  }
}
