import Foundation
import TestSupport
import Testing
import VaultStore

/// Slots, rotation, export and backups from the command line.
@Suite
struct KeyCommandTests {
  private let shop: Workshop

  init() throws {
    shop = try Workshop(.passphrase)
    try shop.write("another one of nine words\n", to: "second")
    try shop.write("", to: "empty")
  }

  private func expect(
    _ arguments: [String], _ status: Int32, _ says: String, environment: [String: String] = [:],
    vault: String = "v.vault", location: SourceLocation = #_sourceLocation
  ) throws {
    let ran = try shop.run(arguments, vault: vault, environment: environment)
    #expect(ran.status == status, "\(ran.errors)", sourceLocation: location)
    #expect(ran.errors.contains(says), "\(ran.errors)", sourceLocation: location)
    #expect(ran.output.isEmpty, sourceLocation: location)
  }

  private func slots(_ environment: [String: String] = [:]) throws -> [[String: Any]] {
    try shop.run(["key", "list", "--json"], environment: environment).rows()
  }

  private var withSecond: [String: String] { ["FIELDVAULT_PASSPHRASE_FILE": shop.path("second")] }

  @Test("A changed passphrase replaces the old one") func aPassphraseIsChanged() throws {
    try shop.done("key", "passphrase", "--new-passphrase-file", shop.path("second"))
    try expect(["list", "Room"], 3, "the passphrase is wrong")
    let ran = try shop.run(["list", "Room", "--json"], environment: withSecond)
    #expect(try ran.rows().count == 1)
  }

  @Test("Every kind of slot opens the vault, and the last slot cannot be removed")
  func everyKindOfSlotOpensTheVaultAndTheLastOneStays() throws {
    let added = try shop.done("key", "add", "recovery", "--label", "in the safe", "--json").object()
    let code = try #require(added["code"] as? String)
    try shop.write(code.lowercased().replacing("-", with: " ") + "\n", to: "code")
    try shop.done("key", "add", "key-file", "--new-key-file", shop.path("job.key"), "--quiet")
    #expect(try FileManager.default.attributesOfItem(atPath: shop.path("job.key"))[.posixPermissions] as? Int == 0o600)
    let all = try slots()
    #expect(all.map { $0["kind"] as? String } == ["passphrase", "recovery", "key-file"])
    #expect(try shop.done("list", "Room", "--json", "--recovery-file", shop.path("code")).rows().count == 1)
    for slot in all.prefix(2) {
      try shop.done("key", "remove", try #require(slot["slot"] as? String), "--key-file", shop.path("job.key"))
    }
    try expect(["list", "Room"], 3, "has no slot of the kind passphrase")
    try expect(
      ["key", "remove", try #require(all[2]["slot"] as? String), "--key-file", shop.path("job.key")], 10,
      "is the last slot")
    #expect(try shop.done("list", "Room", "--json", "--key-file", shop.path("job.key")).rows().count == 1)
  }

  @Test("A slot is named by its id or by at least 4 of its first characters")
  func slotsAreNamedByPrefixes() throws {
    try shop.done("key", "add", "key-file", "--new-key-file", shop.path("job.key"), "--quiet")
    let ids = try slots().compactMap { $0["slot"] as? String }
    for word in [String(ids[1].prefix(3)), "zzzz", "00000000"] where !ids[1].hasPrefix("0000") {
      try expect(["key", "remove", word], 4, "the keyring has no slot")
    }
    #expect(try slots().count == 2)
    // Two random ids rarely have the same beginning.
    guard ids[0].prefix(4) != ids[1].prefix(4) else { return }
    let changed = try shop.done(
      "key", "passphrase", "--slot", String(ids[0].prefix(5)), "--new-passphrase-file", shop.path("second"), "--json")
    #expect(try changed.object()["slot"] as? String == ids[0])
    let removed = try shop.run(
      ["key", "remove", String(ids[1].prefix(4)).uppercased(), "--json"], environment: withSecond)
    #expect(try removed.object()["removed"] as? String == ids[1])
  }

  @Test("An ambiguous beginning of slot ids is found")
  func ambiguousSlots() {
    let ids = ["1f2e3d4c", "1f2e0000", "abcdef01"]
    #expect(Vault.slotIDs(beginningWith: "1f2e", among: ids) == ["1f2e3d4c", "1f2e0000"])
    #expect(Vault.slotIDs(beginningWith: "1f2e3", among: ids) == ["1f2e3d4c"])
    #expect(Vault.slotIDs(beginningWith: "abc", among: ids).isEmpty)
    #expect(Vault.slotIDs(beginningWith: "abcdef01", among: ids) == ["abcdef01"])
  }

  @Test("A rotation changes the database key and keeps the content") func aRotationChangesTheKeyAndNothingElse() throws
  {
    let before = try shop.content()
    try shop.done("key", "export", "@old")
    let plan = try shop.done("key", "rotate", "--dry-run", "--json").object()
    #expect(plan["generation"] as? Int == 1)
    let done = try shop.done("key", "rotate", "--json").object()
    #expect(done["generation"] as? Int == 2)
    #expect(try shop.content() == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("v.vault/db")) == ["0002"])
    try shop.done("key", "export", "@new")
    let shell = try #require(tool("sqlcipher"))
    for (file, says) in [("new", "14 Elm Street"), ("old", "file is not a database")] {
      let key = try String(contentsOfFile: shop.path(file), encoding: .utf8).trimmingCharacters(in: .newlines)
      #expect(key.count == 67)
      let ran = try run(
        shell, ["-batch", shop.path("v.vault/db/0002/vault.db")], environment: shop.environment(),
        input: "PRAGMA key = \"\(key)\";\nSELECT title FROM OfflineProject;\n")
      #expect((ran.output + ran.errors).contains(says), "\(file): \(ran.errors)")
    }
  }

  @Test("A new root key drops slots only when confirmed") func aNewRootKeyDropsSlotsOnlyWhenThatIsConfirmed() throws {
    try shop.done("key", "add", "passphrase", "--new-passphrase-file", shop.path("second"), "--label", "office")
    try expect(["key", "rotate", "--root"], 10, "(passphrase, office)")
    #expect(try slots().count == 2)
    try shop.done("key", "rotate", "--root", "--also-passphrase-file", shop.path("second"), "--quiet")
    #expect(try slots(withSecond).count == 2)
    let done = try shop.done("key", "rotate", "--root", "--yes", "--json").object()
    #expect((done["dropped"] as? [String])?.count == 1)
    #expect(try slots().count == 1)
    try expect(["list", "Room"], 3, "the passphrase is wrong", environment: withSecond)
  }

  @Test("A rotation is refused while another process has the vault open, and names that process")
  func aVaultThatIsOpenElsewhereIsNotRotatedAndItsHolderIsNamed() throws {
    let holder = try OpenShell(shop)
    let plan = try shop.done("key", "rotate", "--dry-run", "--json").object()
    #expect(plan["heldBy"] as? [String] == ["fieldvault (process \(holder.process))"])
    try expect(["key", "rotate"], 6, "the vault is open in fieldvault (process \(holder.process))")
    #expect(try shop.done("list", "Room", "--json").rows().count == 1)
    // A backup does not mind.
    try shop.done("backup", "@job.backup", "--quiet")
    #expect(try holder.end().status == 0)
    try shop.done("key", "rotate", "--quiet")
  }

  @Test("An impossible secret and an unknown slot are refused") func whatCannotBeASecretIsRefused() throws {
    try expect(["key", "passphrase", "--new-passphrase-file", shop.path("empty")], 2, "the passphrase is empty")
    try shop.write(String(repeating: "x", count: 10 << 20), to: "long")
    try expect(
      ["key", "add", "passphrase", "--new-passphrase-file", shop.path("long")], 3, "longer than 1048576 bytes")
    try expect(
      ["list", "Room"], 3, "longer than 1048576 bytes", environment: ["FIELDVAULT_PASSPHRASE_FILE": shop.path("long")])
    try shop.write("short", to: "short.key")
    try expect(["key", "add", "key-file", "--new-key-file", shop.path("short.key")], 3, "short.key")
    try expect(["key", "add", "key-file"], 2, "no key file given")
    try expect(["key", "remove", "12345678"], 4, "no slot 12345678")
    #expect(try slots().count == 1)
  }

  @Test("A key export does not overwrite a file") func nothingIsOverwrittenByAnExport() throws {
    let file = try shop.write("a letter", to: "letter")
    try expect(["key", "export", file], 1, "already exists")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "a letter")
  }

  @Test("The keyring of another vault is damage") func aKeyringOfAnotherVaultIsDamage() throws {
    try shop.done("init", "--schema", "restoration", "--quiet", vault: "other.vault")
    try FileManager.default.removeItem(atPath: shop.path("v.vault/keyring.json"))
    try FileManager.default.copyItem(
      atPath: shop.path("other.vault/keyring.json"), toPath: shop.path("v.vault/keyring.json"))
    try expect(["list", "Room"], 5, "belongs to another vault")
    try expect(["key", "rotate"], 5, "belongs to another vault")
  }

  @Test("A missing generation is damage") func aMissingGenerationIsDamage() throws {
    try FileManager.default.removeItem(atPath: shop.path("v.vault/db/0001"))
    try expect(["list", "Room"], 5, "generation 1 of the database is missing")
  }

  @Test("A keyring with two current generations is damage") func aKeyringWithTwoCurrentGenerationsIsDamage() throws {
    let path = shop.path("v.vault/keyring.json")
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let generation = try #require(text.firstRange(of: /[ ]+"generation": \{[^}]*\},\n/))
    try (text[..<generation.upperBound] + text[generation] + text[generation.upperBound...])
      .write(toFile: path, atomically: false, encoding: .utf8)
    try expect(["list", "Room"], 5, "the keyring is damaged")
  }

  @Test(
    "On a full disk a rotation and a backup fail and change nothing",
    .enabled(if: Mount.isPossible, "only root may mount the file systems of this test"))
  func onAFullDiskTheKeyStaysAsItIs() throws {
    // Room for the vault, not for a second generation of it.
    try shop.write("title,level\n" + String(repeating: "A room of the house,1\n", count: 4500), to: "rooms.csv")
    try shop.done("import", "Room", "@rooms.csv", "--set", "projectId=\(Workshop.project)", "--quiet")
    try shop.done("query", "SELECT 1")
    let disk = try Mount(at: shop.path("disk"), size: "8m")
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("disk/v.vault"))
    let before = try shop.content(vault: "disk/v.vault")
    let ran = try shop.run("key", "rotate", vault: "disk/v.vault")
    #expect(ran.status == 9, "\(ran.errors)")
    #expect(ran.errors.contains("bytes are free") || ran.errors.contains("are free"), "\(ran.errors)")
    try Data(count: 1 << 20).write(to: URL(filePath: shop.path("disk/filler")))
    let backup = try shop.run("backup", shop.path("disk/job.backup"), vault: "disk/v.vault")
    #expect(backup.status == 9, "\(backup.errors)")
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: shop.path("disk"))) == ["v.vault", "filler"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("disk/v.vault/db")) == ["0001"])
    #expect(try shop.content(vault: "disk/v.vault") == before)
    withExtendedLifetime(disk) {}
  }

  @Test(
    "On a read-only disk key changes and backups are refused",
    .enabled(if: Mount.isPossible, "only root may mount the file systems of this test"))
  func onAReadOnlyDiskNothingIsTried() throws {
    let disk = try Mount(at: shop.path("disk"), size: "20m")
    try FileManager.default.copyItem(atPath: shop.path("v.vault"), toPath: shop.path("disk/v.vault"))
    try disk.makeReadOnly()
    for arguments in [["key", "rotate"], ["key", "add", "recovery"], ["backup", shop.path("disk/job.backup")]] {
      let ran = try shop.run(arguments, vault: "disk/v.vault")
      #expect(ran.status == 1, "\(ran.errors)")
      #expect(ran.errors.contains("Read-only file system"), "\(ran.errors)")
    }
  }

  @Test("A backup is restored, and damaged or other files are refused") func aBackupIsRestoredAndNothingElseIsTaken()
    throws
  {
    let before = try shop.content()
    let done = try shop.done("backup", "@job.backup", "--json").object()
    let bytes = try FileManager.default.attributesOfItem(atPath: shop.path("job.backup"))[.size] as? Int
    #expect(done["bytes"] as? Int == bytes)
    try shop.done("key", "passphrase", "--new-passphrase-file", shop.path("second"))
    try shop.done("restore", "@job.backup", "--quiet", vault: "again.vault")
    #expect(try shop.content(vault: "again.vault") == before)
    try expect(["restore", shop.path("job.backup")], 1, "already exists")
    try expect(
      ["restore", shop.path("job.backup")], 3, "the passphrase is wrong", environment: withSecond, vault: "third.vault")
    try expect(["restore", shop.path("passphrase")], 5, "is not a vault backup", vault: "third.vault")
    try expect(["restore", shop.path("nowhere")], 1, "nowhere", vault: "third.vault")
    var damaged = try Data(contentsOf: URL(filePath: shop.path("job.backup")))
    damaged[damaged.count / 2] ^= 4
    try shop.write(Array(damaged), to: "damaged.backup")
    try expect(["restore", shop.path("damaged.backup")], 5, "is damaged", vault: "third.vault")
    #expect(!FileManager.default.fileExists(atPath: shop.path("third.vault")))
    try expect(["backup", shop.path("passphrase")], 1, "is not a backup", environment: withSecond)
    try expect(["backup", shop.path("home")], 1, "is not a backup", environment: withSecond)
  }
}
