import CipherSQL
import Foundation
import TestSupport
import VaultStore
import VaultKeys

/// What must hold in a vault after anything.
enum VaultCheck {
  /// Opens the vault and checks it, then adds a row to it.
  /// - Parameters:
  ///   - least: how many rows were acknowledged.
  ///   - isMigrating: whether a waiting migration is applied, which makes the check apply it.
  ///   - isMigrated: whether it has to be applied already.
  static func whole(
    _ path: String, keyFile: String, least: Int, isMigrating: Bool = false, isMigrated: Bool = false
  ) throws {
    let secret = try UnlockSecret.keyFile(at: keyFile)
    try database(path, secret, least: least, outdated: .leave, isLatest: isMigrated)
    if isMigrating { try database(path, secret, least: least, outdated: .migrate, isLatest: true) }
    try names(path)
  }

  private static func database(
    _ path: String, _ secret: UnlockSecret, least: Int, outdated: Vault.OutdatedSchema, isLatest: Bool
  ) throws {
    let vault = try Vault.open(at: path, with: secret, outdated: outdated)
    defer { vault.close() }
    let count = try vault.database.read { connection in
      try expectNone(connection.fetch("PRAGMA integrity_check", as: String.self).filter { $0 != "ok" })
      try expectNone(connection.fetch("PRAGMA foreign_key_check", as: String.self))
      try version(in: connection, isLatest: isLatest)
      return try Rows.check(in: connection)
    }
    guard count >= least else { throw Unexpected("\(least) rows were acknowledged, and \(count) are there") }
    let added = try vault.database.write { try Rows.add(to: $0) }
    guard added == count + 1 else { throw Unexpected("row \(added) was added behind row \(count)") }
    _ = try vault.database.withWriter { try $0.checkpoint() }
    // Every page as it stands in the file, against its authentication code.
    try vault.database.read { try expectNone($0.problems(found: .pages)) }
  }

  private static func expectNone(_ findings: [String]) throws {
    if let first = findings.first { throw Unexpected("integrity: \(first)") }
  }

  /// The table has the form that the recorded version says.
  private static func version(in connection: Connection, isLatest: Bool) throws {
    let version = try MigrationRecord.all(in: connection).filter { $0.schema == Rows.schemaName }.map(\.version).max()
    let columns = try connection.fetch("SELECT name FROM pragma_table_xinfo('TortureRow')", as: String.self)
    guard columns.contains("size") == (version == 2) else {
      throw Unexpected("version \(version ?? 0) is recorded, and the columns are \(columns)")
    }
    if isLatest, version != 2 { throw Unexpected("the waiting file was not applied") }
  }

  /// Nothing stands in the folder that does not belong there.
  private static func names(_ path: String) throws {
    let files = FileManager.default
    let known: Set = ["keyring.json", "lock", "db", "attachments"]
    let strange = try files.contentsOfDirectory(atPath: path).filter { !known.contains($0) }
    guard strange.isEmpty else { throw Unexpected("left behind: \(strange)") }
    let generations = try files.contentsOfDirectory(atPath: path + "/db").sorted()
    guard generations.count == 1 else { throw Unexpected("generations: \(generations)") }
    let parts: Set = ["vault.db", "vault.db-wal", "vault.db-shm"]
    let others = try files.contentsOfDirectory(atPath: "\(path)/db/\(generations[0])").filter { !parts.contains($0) }
    guard others.isEmpty else { throw Unexpected("left behind in db/\(generations[0]): \(others)") }
  }
}
