import CipherSQL
import Platform

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The result of a repair.
public struct RepairReport: Sendable {
  /// Descriptions of the completed actions.
  public internal(set) var done: [String] = []
  /// Descriptions of the failed actions.
  public internal(set) var failed: [String] = []
  /// The data saved into a new vault; `nil` if no salvage was needed or the salvage failed.
  public internal(set) var salvaged: SalvageReport?
}

extension Doctor {
  /// Examines the vault again after a repair. A salvage leaves the damaged vault unchanged and saves its readable
  /// data in another vault. Findings of damage then advise the use of the new vault, because a second salvage would
  /// save the same data.
  public func examine(after repair: RepairReport) throws -> Diagnosis {
    var diagnosis = try examine()
    guard let salvaged = repair.salvaged else { return diagnosis }
    diagnosis.findings = diagnosis.findings.map { finding in
      guard finding.severity == .damage else { return finding }
      return Finding(
        .damage, finding.check, what: finding.what, meaning: finding.meaning,
        next: .advice("continue with \(salvaged.vault), and keep this vault unchanged"))
    }
    return diagnosis
  }

  /// Repairs everything that can be repaired without losing data: leftovers, permissions, orphaned attachment
  /// files, indexes, full-text search, derived triggers and missing operations.
  ///
  /// A repair of the database is tried on a copy first, and applied to the database if the copy then passes the
  /// checks. If the database is damaged, its readable data is saved into a new vault beside this one, which stays
  /// unchanged.
  /// - Parameter diagnosis: the result of ``examine()``.
  /// - Throws: ``VaultError`` with `busy` when a salvage needs exclusive access, or with `noSpace`; `SQLError`.
  public func repair(_ diagnosis: Diagnosis) throws -> RepairReport {
    var repair = RepairReport()
    let held = try KeyringLock(folder: layout.folder)
    defer { withExtendedLifetime(held) {} }
    try report("Repairing the files")
    sweep(&repair)
    mendPermissions(&repair)
    guard let keys else { return repair }
    let access = DatabaseAccess(
      path: layout.database(generation: keys.keyring.generation.number), key: GuardedKey(bytes: keys.databaseKey),
      environment: environment)
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
    // The keyring that makes the old generations leftovers must be on disk before they are removed.
    do throws(FileError) {
      try Files.syncFolder(layout.folder)
    } catch {
      repair.failed.append(error.message)
      return
    }
    // The lock prevents other processes from creating a draft beside the vault during the search.
    let makers = KeyringLock(ifFree: Files.parent(of: layout.folder))
    defer { withExtendedLifetime(makers) {} }
    for path in ownOrphans() where makers != nil || !path.hasSuffix(".making") {
      do throws(FileError) {
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
        let modes = "from \(Self.octal(item.mode)) to \(Self.octal(item.wanted))"
        repair.done.append("changed the mode of \(item.path) \(modes)")
      } else {
        repair.failed.append(FileError.last("change the mode of", item.path).message)
      }
    }
  }

  private func salvage(_ repair: inout RepairReport) throws {
    guard let keys else { return }
    // The exclusive lock keeps other processes from writing to the damaged vault.
    try lock.makeExclusive()
    let result = Result {
      try Salvage(layout: layout, keys: keys, schemas: schemas, environment: environment, report: report).run()
    }
    try lock.makeShared()
    do {
      let saved = try result.get()
      repair.salvaged = saved
      let rows = saved.tables.reduce(0) { $0 + $1.rows }
      repair.done.append("saved \(counted(rows, "row")) of \(counted(saved.tables.count, "table")) to \(saved.vault)")
    } catch let error as VaultError {
      guard error.code == .damaged else { throw error }
      repair.failed.append(error.message)
    }
  }

  // MARK: The database

  /// The parts of a database that need repair.
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

    /// Descriptions of the actions.
    var actions: [String] {
      (indexes ? ["rebuilt all indexes from their tables"] : [])
        + (search ? ["rebuilt full-text search from its records"] : [])
        + (triggers ? ["rebuilt the derived triggers"] : [])
        + (sync ? ["queued changes without an operation"] : [])
    }

    func apply(to database: Database) throws {
      try database.write { connection in
        if indexes { try connection.execute("REINDEX") }
        if triggers {
          try DerivedTriggers.drop(in: connection)
          try VaultTriggers.create(in: connection)
        }
        if sync {
          try VaultInvariants.restore(SyncCatalog(try Entities.read(from: connection)), on: connection)
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
    // The copy and its write-ahead log each need as much space as the database.
    guard try Files.freeBytes(at: layout.databases) > 2 * size + (1 << 20) else {
      throw VaultError(
        .noSpace, "the trial repair of a copy requires \(2 * size) bytes", hint: "free some space")
    }
    try Files.removeTree(repairFolder)
    try Files.makeFolder(repairFolder)
    // If this removal fails too, the next repair removes the rest.
    defer { try? Files.removeTree(repairFolder) }
    let copy = DatabaseAccess(path: repairFolder + "/vault.db", key: access.key, environment: environment)
    try report("Copying the database")
    try Files.makeFile(copy.path)
    try access.withDatabase { try $0.read { try $0.copyPages(to: copy.path, key: copy.key) } }
    try report("Trying the repair on the copy")
    if let problem = try problem(after: mending, of: copy) {
      repair.failed.append("the repair was not applied because it failed on a copy: \(problem)")
      return
    }
    try report("Repairing the database")
    try access.withDatabase { try mending.apply(to: $0) }
    repair.done += mending.actions
  }

  /// Repairs a copy and returns the first remaining problem, or `nil`.
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
