import Foundation
import TestSupport

extension SyncWorkshop {
  /// Unpacks the vaults and the server folder that an earlier version of the programs made, and serves them.
  ///
  /// `Tests/Data/README.md` lists the records and operations in them.
  convenience init(_ version: EarlierVersion) throws {
    let shop = try Workshop(.passphrase, vault: false)
    guard let tar = tool("tar") else { throw Unexpected("there is no tar") }
    let unpacked = try FieldVaultTests.run(tar, ["-xpf", version.archive, "--no-same-owner", "-C", shop.folder.path])
    guard unpacked.status == 0 else { throw Unexpected("tar: \(unpacked.errors)") }
    try self.init(shop: shop, schema: "restoration")
    for vault in ["a.vault", "b.vault"] {
      try shop.done("migrate", "apply", "--quiet", vault: vault)
    }
    try connect()
  }

  /// The operations in the outbox of `a.vault`, sorted: entity, type and status.
  func outbox() throws -> [String] {
    try shop.done("outbox", "list", "--json", vault: "a.vault").rows().map {
      "\($0["entityType"] ?? "") \($0["operationType"] ?? "") \($0["status"] ?? "")"
    }.sorted()
  }

  /// The ids of the open conflicts of `a.vault`, by entity and kind.
  func conflicts() throws -> [String: String] {
    let open = try shop.done("conflicts", "list", "--json", vault: "a.vault").rows().map {
      ("\($0["entityType"] ?? "") \($0["conflictType"] ?? "")", "\($0["conflictId"] ?? "")")
    }
    return Dictionary(open) { first, _ in "\(first) and another" }
  }

  /// The checks of `doctor` that found something, sorted.
  func findings(_ vault: String) throws -> [String] {
    let findings = try shop.run("doctor", "--json", vault: vault).object()["findings"] as? [[String: Any]]
    guard let findings else { throw Unexpected("no findings") }
    return findings.map { "\($0["check"] ?? "")" }.sorted()
  }

  /// The titles of the records of an entity, sorted.
  func titles(_ entity: String, _ vault: String) throws -> [String] {
    try shop.done("list", entity, "--json", vault: vault).rows().map { "\($0["title"] ?? "")" }.sorted()
  }

  /// The values of the first column that a statement selects in `a.vault`.
  func selected(_ statement: String) throws -> [String] {
    try shop.done("query", statement, "--json", vault: "a.vault").rows().map { "\($0.values.first ?? "")" }
  }
}
