import CipherSQL
import VaultKeys

/// What a salvage saved of a table.
public struct SalvagedTable: Sendable, Hashable {
  /// The name of the table, the same in the damaged vault and in the new one.
  public let name: String
  /// The rows that are in the new vault.
  public internal(set) var rows = 0
  /// The rowids that could not be read; not each of them need have had a row.
  public internal(set) var lost: [ClosedRange<Int64>] = []
  /// True when rows are lost of which no rowid is known.
  public internal(set) var hasUnknownLoss = false
  /// Rows that the schema files themselves bring, where those of the damaged table are lost.
  public internal(set) var reseeded = 0
  /// Rows that were read and that a rule of the table refused.
  public internal(set) var refused = 0

  init(_ name: String) { self.name = name }

  /// True when every row was saved.
  public var isWhole: Bool { lost.isEmpty && !hasUnknownLoss && refused == 0 }
}

/// What was saved of a damaged vault.
public struct SalvageReport: Sendable {
  /// The folder of the new vault.
  public let vault: String
  /// Its tables with what was saved.
  public let tables: [SalvagedTable]
  /// What is wrong with the new vault, in words: references to lost records, definitions that could not be read.
  public let problems: [String]
  /// The files of the attachments folder that were copied.
  public let attachments: Int
}

/// Reads what can be read of a damaged vault into a new one beside it, which has the same keyring and opens with the
/// same secrets. The damaged vault is never changed.
struct Salvage {
  let layout: VaultLayout
  let keys: UnlockedKeyring
  let schemas: [Schema]
  let report: (String) throws -> Void

  private var source: DatabaseAccess {
    DatabaseAccess(
      path: layout.database(generation: keys.keyring.generation.number), key: GuardedKey(bytes: keys.databaseKey))
  }

  /// The name of a vault without its ending.
  static func stem(of name: String) -> String { name.hasSuffix(".vault") ? String(name.dropLast(6)) : name }

  /// Where the new vault will stand.
  static func target(for layout: VaultLayout) throws -> VaultLayout {
    for number in 1..<1000 {
      let name = "\(stem(of: layout.folder)).salvaged\(number == 1 ? "" : "-\(number)").vault"
      if !Files.exists(name) { return VaultLayout(folder: name) }
    }
    throw VaultError(.alreadyExists, "there are too many salvaged vaults beside \(layout.folder)", hint: "remove some")
  }

  /// - Throws: ``VaultError`` with `damaged` when nothing of the tables can be read; `SQLError` when the new vault
  ///   cannot be written. Nothing is left behind then.
  func run() throws -> SalvageReport {
    let target = try Self.target(for: layout)
    let draft = try StagedVault(for: target)
    do {
      let filled = try fill(draft.layout)
      let attachments = try copyAttachments(to: draft.layout)
      let problems = filled.problems + attachments.unreadable
      try draft.publish()
      return SalvageReport(
        vault: target.folder, tables: filled.tables, problems: problems, attachments: attachments.count)
    } catch {
      draft.abandon()
      throw error
    }
  }

  private func fill(_ draft: VaultLayout) throws -> (tables: [SalvagedTable], problems: [String]) {
    let generation = keys.keyring.generation.number
    let target = DatabaseAccess(path: draft.database(generation: generation), key: source.key)
    try Files.makeFolder(draft.generation(generation))
    try Files.makeFile(target.path)
    try report("Making the tables anew")
    let definitions = try Definitions.read(source, known: schemas)
    var outcome = try target.withDatabase { database in
      try definitions.makeTables(in: database)
      let filler = SalvageFiller(source: source, target: database, definitions: definitions, report: report)
      let tables = try filler.run()
      let problems = try definitions.makeTheRest(in: database)
      try database.withWriter { _ = try $0.checkpoint() }
      return (tables: tables, problems: definitions.problems + problems)
    }
    outcome.problems += try check(target)
    try KeyringFile.create(keys.keyring, at: draft.keyring)
    try Files.syncFile(target.path)
    try Files.syncFolder(draft.generation(generation))
    return outcome
  }

  private func check(_ target: DatabaseAccess) throws -> [String] {
    try report("Checking the new vault")
    let broken = try target.withDatabase { database in
      try database.read { try $0.problems(found: .pages, limit: 1) + $0.problems(found: .structure, limit: 1) }
    }
    if let problem = broken.first {
      throw VaultError(.damaged, "the new vault is not what it should be: \(problem)", hint: "check the disk")
    }
    return try target.withDatabase { try $0.read { try $0.problems(found: .references) } }
  }

  private func copyAttachments(to draft: VaultLayout) throws -> (count: Int, unreadable: [String]) {
    guard Files.isFolder(layout.attachments) else { return (0, []) }
    try report("Copying the attachments")
    return try copyTree(layout.attachments, draft.attachments)
  }

  /// A file that cannot be read is left out: the rest is worth having without it.
  private func copyTree(_ source: String, _ target: String) throws -> (count: Int, unreadable: [String]) {
    var (count, unreadable) = (0, [String]())
    for name in try Files.names(in: source) {
      let (from, to) = (source + "/" + name, target + "/" + name)
      if Files.isFolder(from) {
        try Files.makeFolder(to)
        let below = try copyTree(from, to)
        count += below.count
        unreadable += below.unreadable
        try Files.syncFolder(to)
      } else {
        do throws(VaultError) {
          try Files.copy(from, to: to)
          count += 1
        } catch {
          guard error.code == .unreadable else { throw error }
          unreadable.append(error.message)
          try Files.removeTree(to)
        }
      }
    }
    return (count, unreadable)
  }
}
