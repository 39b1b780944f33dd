import Foundation
import TestSupport
import Testing
import VaultKeys

@testable import FieldVaultCommand

@Suite("Passphrases of commands and files")
struct PassphraseCommandTests {
  @Test("--passphrase-command unlocks with the first line that a command prints")
  func aCommandPrintsThePassphrase() throws {
    let shop = try Workshop(.passphrase)
    let command = "cat '\(shop.path("passphrase"))'; echo more"
    let ran = try shop.run("list", "Room", "--json", "--passphrase-command", command)
    #expect(ran.status == 0, "\(ran.errors)")
    #expect(try ran.rows().count == 1)
    try shop.done("init", "--schema", "range", "--passphrase-command", command, "-q", vault: "new.vault")
    try shop.done("describe", "RifleSetup", "--passphrase-file", shop.path("passphrase"), "-q", vault: "new.vault")
  }

  @Test(
    "A passphrase command that fails is reported with its status and without its output",
    arguments: [
      ("echo hunter2; exit 7", 3, "the passphrase command ended with exit code 7"),
      ("echo hunter2; kill -9 $$", 3, "the passphrase command was ended by signal 9"),
      ("echo hunter2", 3, "the passphrase is wrong"), ("echo; echo hunter2", 2, "printed nothing in its first line"),
      (" ", 2, "the passphrase command is empty"),
    ] as [(String, Int32, String)])
  func aCommandFails(_ command: String, _ status: Int32, _ text: String) throws {
    let ran = try Workshop(.passphrase).run("list", "Room", "--passphrase-command", command)
    #expect(ran.status == status)
    #expect(ran.errors.contains(text), "\(ran.errors)")
    #expect(!(ran.output + ran.errors).contains("hunter2"))
  }

  @Test("The options for a secret exclude each other")
  func optionsExcludeEachOther() throws {
    let ran = try Workshop(.passphrase).run(
      "list", "Room", "--passphrase-command", "echo x", "--passphrase-file", "@passphrase")
    #expect(ran.status == 2)
    #expect(ran.errors.contains("exclude each other"))
  }

  @Test("A passphrase file that other users can read is warned about")
  func othersReadThePassphrase() throws {
    let shop = try Workshop(.passphrase)
    let path = shop.path("passphrase")
    chmod(path, 0o640)
    let warned = try shop.run("list", "Room")
    #expect(warned.status == 0)
    #expect(warned.errors == "warning: other users can read \(path). To prevent that: chmod 600 \(path)\n")
    #expect(try shop.run("list", "Room", "-q").errors.isEmpty)
    chmod(path, 0o600)
    #expect(try shop.run("list", "Room").errors.isEmpty)
  }

  @Test(
    "Passphrases that are easy to guess have a reason",
    arguments: [
      ("secret", "has only 6 characters"), ("äöüäöüäöüäö", "has only 11 characters"),
      ("aaaaaaaabbbb", "repeats few characters"), ("4715026389164", "consists of digits"),
      ("MyPassWord-77", "contains a common password"), ("correct horse battery staple", nil), ("kq7-Vw2.pZ9x", nil),
    ] as [(String, String?)])
  func weakness(_ text: String, _ reason: String?) throws {
    var bytes = Array(text.utf8)
    #expect(PassphraseStrength.weakness(of: try SecureBytes(wiping: &bytes)) == reason)
  }

  @Test("A weak passphrase is advised against when a vault is created and when a slot is added")
  func weakPassphrasesAreAdvisedAgainst() throws {
    let shop = try Workshop(.passphrase)
    let weak = try shop.write("secret\n", to: "weak")
    chmod(weak, 0o600)
    let added = try shop.done("key", "add", "passphrase", "--new-passphrase-file", weak)
    #expect(added.errors.contains("The passphrase has only 6 characters."), "\(added.errors)")
    let made = try shop.done("init", "--schema", "range", "--passphrase-file", weak, vault: "new.vault")
    #expect(made.errors.contains("The passphrase has only 6 characters."), "\(made.errors)")
    let strong = try shop.done("key", "add", "passphrase", "--new-passphrase-file", shop.path("passphrase"))
    #expect(!strong.errors.contains("The passphrase has"))
  }
}
