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
