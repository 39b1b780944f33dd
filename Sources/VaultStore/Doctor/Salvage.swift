import CipherSQL
import Platform
import VaultKeys

/// The result of salvaging one table.
public struct SalvagedTable: Sendable, Hashable {
  /// The name of the table in both vaults.
  public let name: String
  /// The number of rows in the new vault that were read from the damaged one.
  public internal(set) var rows = 0
  /// The ranges of rowids that could not be read. They may include rowids without a row.
  public internal(set) var lost: [ClosedRange<Int64>] = []
  /// Whether rows with unknown rowids were lost.
  public internal(set) var hasUnknownLoss = false
  /// The number of rows that were inserted by the schema files because the damaged table lacks them.
  public internal(set) var reseeded = 0
  /// The number of rows that were read but violate a constraint of the table.
  public internal(set) var refused = 0

  init(_ name: String) { self.name = name }

  /// Whether every row was saved.
  public var isWhole: Bool { lost.isEmpty && !hasUnknownLoss && refused == 0 }
}

/// The result of salvaging a damaged vault.
public struct SalvageReport: Sendable {
  /// The path of the new vault.
  public let vault: String
  /// The tables, with the saved and lost rows of each.
  public let tables: [SalvagedTable]
  /// Descriptions of the problems of the new vault, such as references to lost records and unreadable definitions.
  public let problems: [String]
  /// The number of copied files of the attachments folder.
  public let attachments: Int
}

/// Copies the readable data of a damaged vault into a new vault beside it. The new vault has the same keyring and
/// opens with the same secrets. The damaged vault is never changed.
struct Salvage {
  let layout: VaultLayout
  let keys: UnlockedKeyring
  let schemas: [Schema]
  let environment: Environment
  let report: (String) throws -> Void

  private var source: DatabaseAccess {
    DatabaseAccess(
      path: layout.database(generation: keys.keyring.generation.number), key: GuardedKey(bytes: keys.databaseKey),
      environment: environment)
  }

  /// Returns the name of a vault without the suffix `.vault`.
  static func stem(of name: String) -> String { name.hasSuffix(".vault") ? String(name.dropLast(6)) : name }

  /// Returns the first free path for the new vault.
  static func target(for layout: VaultLayout) throws -> VaultLayout {
    for number in 1..<1000 {
      let name = "\(stem(of: layout.folder)).salvaged\(number == 1 ? "" : "-\(number)").vault"
      if !Files.exists(name) { return VaultLayout(folder: name) }
    }
    throw VaultError(.alreadyExists, "there are too many salvaged vaults beside \(layout.folder)", hint: "remove some")
  }

  /// Creates the new vault.
  /// - Throws: ``VaultError`` with `damaged` when no table definition can be read or the new vault fails its check;
  ///   `SQLError` when the new vault cannot be written. No file remains after an error.
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
    let target = DatabaseAccess(
      path: draft.database(generation: generation), key: source.key, environment: environment)
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

  /// Copies a folder. Skips an unreadable file, because the other files are worth having without it.
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
        do throws(FileError) {
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
