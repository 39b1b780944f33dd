import Foundation
import Platform
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

  @Test("A generated passphrase has 80 random bits in groups, and each has its own")
  func generatedPassphrases() throws {
    func text(_ source: RandomSource) throws -> String {
      try GeneratedPassphrase.make(from: source).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    let counting = RandomSource { buffer in for index in buffer.indices { buffer[index] = UInt8(index * 2 + 0xE0) } }
    #expect(try text(counting) == "0246-8ace-gjmp-rtwy")
    let drawn = try (0..<200).map { _ in try text(.system) }
    #expect(Set(drawn).count == 200)
    #expect(drawn.allSatisfy { $0.wholeMatch(of: /([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}/) != nil })
    #expect(Set(drawn.joined()).count == 33)
    var bytes = Array(drawn[0].utf8)
    #expect(PassphraseStrength.weakness(of: try SecureBytes(wiping: &bytes)) == nil)
  }

  @Test("init --generate-passphrase shows the passphrase once, also with --quiet and --json")
  func initGeneratesAPassphrase() throws {
    let shop = try Workshop(.passphrase, vault: false)
    let shown = try shop.done("init", "--schema", "range", "--generate-passphrase", "-q", vault: "a.vault")
    let object = try shop.done("init", "--schema", "range", "--generate-passphrase", "--json", vault: "b.vault")
    let texts = [shown.output, "\(try #require(try object.object()["passphrase"] as? String))\n"]
    for (vault, text) in zip(["a.vault", "b.vault"], texts) {
      #expect(text.count == 20)
      let file = try shop.write(text, to: vault + ".secret")
      try shop.done("describe", "RifleSetup", "--passphrase-file", file, "-q", vault: vault)
    }
    #expect(shown.errors.isEmpty && object.errors.contains("Write the passphrase down."))
    #expect(texts[0] != texts[1])
  }

  @Test("init --generate-passphrase writes a new file of mode 0600 and keeps an existing one")
  func initWritesThePassphrase() throws {
    let shop = try Workshop(.passphrase, vault: false)
    let file = shop.path("new.secret")
    let words = ["init", "--schema", "range", "--generate-passphrase", "--passphrase-file", file]
    let made = try shop.run(words + ["--json"], vault: "new.vault")
    #expect(made.status == 0 && made.errors.contains("Wrote the passphrase to \(file)"), "\(made.errors)")
    #expect(try made.object().keys.sorted() == ["entities", "vault"])
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    try shop.done("describe", "RifleSetup", "--passphrase-file", file, "-q", vault: "new.vault")
    let before = try String(contentsOfFile: file, encoding: .utf8)
    let again = try shop.run(words, vault: "other.vault")
    #expect(again.status == 1 && again.errors.contains("already exists and is not overwritten"), "\(again.errors)")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
    #expect(!FileManager.default.fileExists(atPath: shop.path("other.vault")))
    try FileManager.default.removeItem(atPath: file)
    #expect(try shop.run(words, vault: "new.vault").status != 0)
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test(
    "init --generate-passphrase excludes other secrets",
    arguments: [
      ["--key-file", "@key"], ["--passphrase-command", "echo x"], ["--recovery-file", "@key"], ["--system"],
      ["--passphrase-file", "-"],
    ])
  func generatedPassphrasesStandAlone(_ words: [String]) throws {
    let shop = try Workshop(.passphrase, vault: false)
    let ran = try shop.run(["init", "--schema", "range", "--generate-passphrase"] + words, vault: "new.vault")
    #expect(ran.status == 2, "\(ran.errors)")
    #expect(!FileManager.default.fileExists(atPath: shop.path("new.vault")))
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
