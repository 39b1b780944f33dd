import Foundation
import TestSupport
import Testing

@testable import FieldVaultCommand

@Suite
struct CompletionTests {
  @Test("The description of the program has no contradictions")
  func theDescriptionHasNoContradictions() {
    #expect(FieldVaultProgram.program.problems().isEmpty)
  }

  @Test("The completion script is valid in its shell", arguments: ["bash", "zsh", "fish"])
  func theScriptIsOneOfItsShell(_ name: String) throws {
    let shop = try Workshop(vault: false)
    let script = try shop.done("completions", name)
    #expect(script.output.contains("fieldvault"))
    for word in ["import", "skip-invalid", "migrate"] { #expect(script.output.contains(word)) }
    #expect(script.errors.isEmpty)
    guard let shell = tool(name) else { return }
    let checked = try run(shell, ["-n", try shop.write(script.output, to: "script")])
    #expect(checked.status == 0, "\(checked.errors)")
  }

  @Test("bash completes commands, options and values")
  func bashCompletesCommandsAndOptions() throws {
    let bash = try #require(tool("bash"))
    let shop = try Workshop(vault: false)
    try shop.write(try shop.done("completions", "bash").output, to: "script")
    let ask = """
      source "$0"
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      "$(complete -p fieldvault | sed 's/.*-F \\([^ ]*\\).*/\\1/')" fieldvault
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    func completions(_ words: String...) throws -> Set<String> {
      let ran = try run(bash, ["-c", ask, shop.path("script"), "fieldvault"] + words, environment: shop.environment())
      return Set(ran.lines.map { $0.trimmingCharacters(in: .whitespaces) })
    }
    #expect(try completions("im") == ["import"])
    #expect(try completions("migrate", "").isSuperset(of: ["status", "apply", "verify"]))
    #expect(try completions("list", "Room", "--wh") == ["--where"])
    #expect(try completions("export", "Room", "--format", "").isSuperset(of: ["csv", "ndjson", "json"]))
  }

  @Test("zsh and fish complete commands, settings and kinds of slots, and no hidden command")
  func otherShellsComplete() throws {
    let shop = try Workshop(vault: false)
    let zshScript = try shop.done("completions", "zsh").output
    let fishScript = try shop.write(try shop.done("completions", "fish").output, to: "script.fish")
    let lines: [(String, [String])] = [
      ("unl", ["unlock"]), ("config set mo", ["mode"]), ("config get storage", ["storage-limit"]),
      ("key add sys", ["system"]), ("list Room --generate", []), ("init --generate", ["--generate-passphrase"]),
      ("key-a", []),
    ]
    for (line, offered) in lines {
      if let words = try ZshCompletions.words(after: "fieldvault \(line)", script: zshScript) {
        #expect(words == offered, "zsh: \(line)")
      }
      guard let fish = tool("fish") else { continue }
      let ran = try run(
        fish, ["--no-config", "-c", "source $argv[1]; complete -C \"fieldvault $argv[2]\"", fishScript, line],
        environment: shop.environment())
      #expect(
        ran.status == 0 && ran.lines.map { $0.prefix { $0 != "\t" } }.map(String.init) == offered, "fish: \(line)")
    }
  }

  private func values(_ shop: Workshop, _ kind: String, _ prefix: String, _ words: String...) throws -> [String] {
    try shop.run(["complete", "--", kind, prefix] + words).lines.map(String.init)
  }

  @Test("The vault knows entities, fields, records, operations, attachments and slots that a line can have next")
  func valuesOfTheVault() throws {
    let shop = try Workshop()
    #expect(try values(shop, "entity", "Atm", "list") == ["AtmosphericLog"])
    #expect(try values(shop, "entity", "atm", "list") == [])
    #expect(try values(shop, "assignment", "squ", "put", "Room") == ["squareFootage="])
    #expect(try !values(shop, "assignment", "", "put", "OfflineRoom").contains { $0.hasPrefix("syncStatus") })
    #expect(try values(shop, "assignment", "", "put") == [])
    #expect(try values(shop, "field", "sync", "list", "Room", "--order") == ["syncStatus", "syncVersion"])
    #expect(try values(shop, "fields", "title,squ", "list", "Room", "--columns") == ["title,squareFootage"])
    #expect(try values(shop, "record", "", "get", "Room") == ["\(Workshop.room)\tAttic"])
    #expect(try values(shop, "record", "01a1", "get", "Room", "--json") == ["\(Workshop.room)\tAttic"])
    #expect(try values(shop, "record", "02", "get", "Room") == [])
    #expect(try values(shop, "deletedRecord", "", "undelete", "Room") == [])
    try shop.done("delete", "Room", Workshop.room, "--yes")
    #expect(try values(shop, "deletedRecord", "", "undelete", "Room") == ["\(Workshop.room)\tAttic"])
    #expect(try values(shop, "record", "", "get", "Room") == [])
    let operation = try #require(try values(shop, "operation", "", "outbox", "show").first)
    #expect(operation.hasSuffix("\tcreate Project, pending"), "\(operation)")
    let id = String(operation.prefix(36))
    #expect(try values(shop, "operation", String(id.prefix(35)), "outbox", "show").contains(operation))
    #expect(try values(shop, "conflict", "", "conflicts", "show") == [])
    #expect(try values(shop, "attachment", "", "attach", "export") == [])
    try shop.write("a photo", to: "roof.txt")
    try shop.done("attach", "add", "Project", Workshop.project, shop.path("roof.txt"))
    let attachments = try values(shop, "attachment", "", "attach", "export")
    #expect(attachments.count == 1 && attachments[0].contains("roof.txt"), "\(attachments)")
    let slots = try values(shop, "slot", "", "key", "remove")
    #expect(slots.count == 1 && slots[0].hasSuffix("\tkey-file"), "\(slots)")
    // A mistake is an error, which the scripts discard.
    #expect(try shop.run("complete", "--", "record", "", "get", "Rom").status == 4)
    #expect(try shop.run("complete", "--", "colour", "").status == 2)
  }

  @Test("Values with spaces and control characters are not offered, and descriptions are cut and escaped")
  func hostileValues() throws {
    let shop = try Workshop()
    let text = "a\tb\u{1B}[31m\n" + String(repeating: "x", count: 200)
    try shop.done("put", "Room", "title=\(text)", "--uuid", Workshop.room)
    let lines = try values(shop, "record", "", "get", "Room")
    #expect(lines.count == 1)
    let parts = lines[0].split(separator: "\t", omittingEmptySubsequences: false)
    try #require(parts.count == 2 && parts[0] == Workshop.room, "\(lines)")
    #expect(parts[1].count < 100 && !lines[0].contains("\u{1B}"))
  }

  @Test("A locked vault offers nothing and asks nothing; slots need no secret")
  func lockedValues() throws {
    let shop = try Workshop()
    let locked = ["FIELDVAULT_KEY_FILE": ""]
    for words in [
      [], ["--passphrase-file", "-"], ["--system"], ["--passphrase-command", "touch \(shop.path("ran"))"],
    ] {
      let ran = try shop.run(
        ["complete", "--", "entity", ""] + words, input: "correct horse battery staple\n", environment: locked)
      #expect(ran.status == 0 && ran.output.isEmpty && ran.errors.isEmpty, "\(words): \(ran.output)\(ran.errors)")
    }
    #expect(!FileManager.default.fileExists(atPath: shop.path("ran")))
    let named = try shop.run(
      ["complete", "--", "entity", "Roo", "--key-file", shop.path("key"), "list"], environment: locked)
    #expect(named.lines == ["Room"])
    #expect(try shop.run(["complete", "--", "slot", ""], environment: locked).lines.count == 1)
  }

  @Test("The shells offer the values of the real vault")
  func shellsOfferValues() throws {
    let shop = try Workshop()
    let folder = URL(fileURLWithPath: try builtProgram("fieldvault")).deletingLastPathComponent().path
    let lines: [(String, [String])] = [
      ("list Atm", ["AtmosphericLog"]), ("put Room squ", ["squareFootage="]),
      ("get Room 01a1", [Workshop.room]), ("list Room --columns=title,squ", ["title,squareFootage"]),
    ]
    let variables = shop.environment(["PATH": "\(folder):/usr/bin:/bin", "HOME": shop.path("home")])
    for (line, offered) in lines {
      if let words = try ZshCompletions.words(
        after: "fieldvault \(line)", script: try shop.done("completions", "zsh").output, variables: variables)
      {
        #expect(words == offered, "zsh: \(line)")
      }
      guard let fish = tool("fish") else { continue }
      let script = try shop.write(try shop.done("completions", "fish").output, to: "script.fish")
      let ran = try run(
        fish, ["--no-config", "-c", "source $argv[1]; complete -C \"fieldvault $argv[2]\"", script, line],
        environment: variables)
      let words = ran.lines.map { String($0.prefix { $0 != "\t" }) }
      #expect(words.map { $0.replacing("--columns=", with: "") } == offered, "fish: \(line): \(ran.errors)")
    }
  }

  @Test("Each command has help in both forms")
  func everyCommandHasHelp() throws {
    let shop = try Workshop(vault: false)
    let all = try shop.done("help")
    #expect(all.output == (try shop.done("--help").output))
    #expect(all.errors.isEmpty)
    for command in FieldVaultProgram.program.commands where command.name != "help" && !command.isHidden {
      #expect(all.output.contains(command.name))
      let help = try shop.done("help", command.name)
      #expect(help.output == (try shop.done(command.name, "--help").output))
      #expect(help.output.hasPrefix("fieldvault \(command.name): "), "\(help.output)")
      #expect(!help.output.contains("\u{1b}"))
    }
  }

  @Test("The version names SQLCipher and SQLite")
  func theVersionNamesWhatItIsMadeOf() throws {
    let shop = try Workshop(vault: false)
    let version = try shop.done("version", "--json").object()
    #expect(version["version"] as? String == FieldVaultProgram.version)
    for name in ["sqlcipher", "sqlite"] { #expect((version[name] as? String)?.isEmpty == false) }
    #expect(try shop.done("--version").output == (try shop.done("version").output))
  }
}
