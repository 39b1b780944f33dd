import Foundation

extension SyncWorkshop {
  /// Unpacks the vaults and the server folder that an earlier version of the programs made, and serves them.
  ///
  /// `Tests/Data/README.md` lists the records and operations in them.
  convenience init(version: String) throws {
    let shop = try Workshop(.passphrase, vault: false)
    let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Data/\(version)/store.tar").path
    guard let tar = tool("tar") else { throw Unexpected("there is no tar") }
    let unpacked = try FieldVaultTests.run(tar, ["-xpf", archive, "--no-same-owner", "-C", shop.folder.path])
    guard unpacked.status == 0 else { throw Unexpected("tar: \(unpacked.errors)") }
    try self.init(shop: shop, schema: "restoration")
    for vault in ["a.vault", "b.vault"] {
      try shop.done("migrate", "apply", "--quiet", vault: vault)
    }
    try connect()
  }
}
