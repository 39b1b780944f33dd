import CommandLineKit
import Foundation
import TestSupport
import Testing

@Suite("Completions")
struct CompletionTests {
  @Test(
    "Each shell accepts its completion script",
    arguments: [
      (Shell.bash, ["-n"]), (.zsh, ["-n"]), (.fish, ["--no-execute"]),
    ])
  func syntax(shell: Shell, options: [String]) throws {
    guard let path = tool(shell.rawValue) else {
      print("skipped: \(shell.rawValue) is not installed, so its completions were not checked")
      return
    }
    let result = try run(path, options, file: Program.sample.completions(for: shell))
    #expect(result.status == 0 && result.errors == "", "\(result.errors)")
  }

  @Test(
    "Completions in bash are the words allowed at the cursor",
    arguments: [
      (["l"], ["list"]),
      (["he"], ["help"]),
      (["help", "ke"], ["key"]),
      (["help", "key", "a"], ["add"]),
      (["du"], []),
      (["key", ""], ["list", "add", "remove"]),
      (["key", "add", ""], ["passphrase", "key-file", "recovery"]),
      (["key", "add", "pass"], ["passphrase"]),
      (["key", "add", "passphrase", ""], []),
      (["--vault", "list", "key", "re"], ["remove"]),
      (["--vault", "=", "list", "key", "re"], ["remove"]),
      (["list", "--f"], ["--format"]),
      (["ls", "--format", ""], ["table", "csv", "ndjson"]),
      (["ls", "--format", "=", "c"], ["csv"]),
      (["ls", "--format", "="], ["table", "csv", "ndjson"]),
      (["ls", "--where", "a=1", "--de"], ["--deleted"]),
      (["ls", "--", "--de"], []),
      (["completions", ""], ["bash", "zsh", "fish"]),
      (["sync", "--p"], ["--passphrase-file", "--push-only", "--pull-only"]),
      (["put", "Room", "--from", "two w"], ["two words.json"]),
      (["init", "--schema", ""], ["my schemas"]),
      (["init", "--schema", "range", "my"], ["my schemas"]),
      (["--vault", ""], ["my schemas"]),
      (["--key-file", "m"], ["my schemas"]),
    ])
  func bash(words: [String], offered: [String]) throws {
    let bash = try #require(tool("bash"))
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("my schemas"), withIntermediateDirectories: false)
    try folder.write("", to: "two words.json")
    // What readline does: it looks up the function, fills COMP_WORDS and calls it.
    let quoted = (["fieldvault"] + words).map { "'\($0)'" }.joined(separator: " ")
    let script = """
      set -u
      \(Program.sample.completions(for: .bash))
      COMP_WORDS=(\(quoted))
      COMP_CWORD=\(words.count)
      $(complete -p fieldvault | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
      ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
      """
    let result = try run(bash, ["--norc"], file: script, in: URL(fileURLWithPath: folder.path))
    #expect(result.errors == "")
    #expect(result.output.split(separator: "\n").map(String.init) == offered)
  }

  @Test(
    "Completions in fish are the words allowed at the cursor",
    arguments: [
      ("l", ["list"]), ("key ", ["add", "list", "remove"]), ("key add pass", ["passphrase"]),
      ("--vault list key re", ["remove"]), ("ls --format=c", ["--format=csv"]), ("ls --format c", ["csv"]),
      ("ls --delet", ["--deleted"]), ("help key a", ["add"]), ("completions b", ["bash"]),
    ])
  func fish(line: String, offered: [String]) throws {
    guard let fish = tool("fish") else {
      print("skipped: fish is not installed, so its completions were not driven")
      return
    }
    let script = Program.sample.completions(for: .fish) + "\ncomplete -C 'fieldvault \(line)'\n"
    let result = try run(fish, ["--no-config"], file: script)
    let words = result.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    #expect(result.errors == "")
    #expect(words == offered)
  }

  @Test(
    "Completions in zsh are the words allowed at the cursor",
    arguments: [
      ("l", ["list"]), ("key ", ["add", "list", "remove"]), ("key add pass", ["passphrase"]),
      ("--vault list key re", ["remove"]), ("ls --format=c", ["csv"]), ("ls --format c", ["csv"]),
      ("ls --delet", ["--deleted"]), ("help key a", ["add"]), ("completions b", ["bash"]), ("dum", []),
    ])
  func zsh(line: String, offered: [String]) throws {
    guard
      let words = try ZshCompletions.words(after: "fieldvault \(line)", script: Program.sample.completions(for: .zsh))
    else {
      print("skipped: zsh is not installed, so its completions were not driven")
      return
    }
    #expect(words == offered)
  }

  /// A program that prints values, and writes its arguments to a file.
  private func answering(in folder: TemporaryFolder) throws {
    let program = try folder.write(
      """
      #!/bin/sh
      printf '<%s>' "$@" > "$(dirname "$0")/asked"
      case $3 in
        field) printf 'title=\\tthe title\\ntone=\\n' ;;
        *) printf 'one\\tthe first: of [two]\\nonce\\n' ;;
      esac
      """, to: "fieldvault")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
  }

  @Test(
    "Values of the program are asked for with the words before the cursor",
    arguments: [
      ("key remove on", ["once", "one"], "<complete><--><slot><on><key><remove>"),
      ("--vault x key remove a on", ["once", "one"], "<complete><--><slot><on><--vault><x><key><remove><a>"),
      ("put Room t", ["title=", "tone="], "<complete><--><field><t><put><Room>"),
      ("put Room ti", ["title="], "<complete><--><field><ti><put><Room>"),
      ("put Room title=1 --uuid o", ["once", "one"], "<complete><--><record><o><put><Room><title=1><--uuid>"),
      ("put 'two words' --uuid o", ["once", "one"], "<complete><--><record><o><put><two words><--uuid>"),
    ])
  func values(line: String, offered: [String], asked: String) throws {
    for shell in Shell.allCases {
      guard let path = tool(shell.rawValue) else { continue }
      let folder = try TemporaryFolder()
      try answering(in: folder)
      let environment = ["PATH": "\(folder.path):/usr/bin:/bin", "HOME": folder.path]
      let completions = Program.sample.completions(for: shell)
      let words: [String]
      switch shell {
      case .zsh:
        words = try ZshCompletions.words(after: "fieldvault \(line)", script: completions, path: folder.path) ?? []
      case .fish:
        let script = completions + "\ncomplete -C \"fieldvault \(line)\"\n"
        let ran = try run(path, ["--no-config"], file: script, environment: environment)
        #expect(ran.errors.isEmpty, "\(ran.errors)")
        words = ran.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
      case .bash:
        let script = """
          \(completions)
          COMP_WORDS=(fieldvault \(line))
          COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
          _fieldvault
          printf '%s\\n' "${COMPREPLY[@]}"
          """
        let ran = try run(path, ["--norc"], file: script, environment: environment)
        #expect(ran.errors.isEmpty, "\(ran.errors)")
        words = ran.output.split(separator: "\n").map(String.init)
      }
      #expect(Set(words) == Set(offered), "\(shell)")
      #expect(try String(contentsOfFile: folder.file("asked"), encoding: .utf8) == asked, "\(shell)")
    }
  }

  @Test("A program without values has no function for them") func noValues() {
    let program = Program(
      name: "plain", version: "1", summary: "a program",
      commands: [CommandDescription("go", summary: "goes", arguments: [.any("FILE", "files", completion: .file)])])
    for shell in Shell.allCases { #expect(!program.completions(for: shell).contains("values"), "\(shell)") }
  }

  @Test(
    "The beginning of a line has the values so far, whatever follows",
    arguments: [
      ("put Room", "put", "Room", nil), ("put Room --uuid", "put", "Room", nil),
      ("put Room --uuid 12 title=1", "put", "Room", "12"), ("put --wrong Room", "put", nil, nil),
      ("--vault x put Room a=1 -", "put", "Room", nil),
    ] as [(String, String, String?, String?)])
  func beginning(line: String, command: String, entity: String?, uuid: String?) {
    let arguments = ArgumentParser(.sample).parseBeginning(line.split(separator: " ").map(String.init))
    #expect(arguments.command == command)
    #expect(arguments.value("ENTITY") == entity)
    #expect(arguments.value("uuid") == uuid)
  }

  @Test("Completion functions of a program name with a dash have valid names")
  func aNameWithADashMakesNamesOfFunctionsWithout() {
    let program = Program(
      name: "fieldvault-server", version: "1", summary: "it's a server",
      commands: [CommandDescription("serve", summary: "responds; it's [fast]: $(rm) `x`")])
    for shell in Shell.allCases {
      let script = program.completions(for: shell)
      #expect(script.contains("_fieldvault_server"), "\(shell)")
      guard let path = tool(shell.rawValue) else { continue }
      let result = try? run(path, [shell == .fish ? "--no-execute" : "-n"], file: script)
      #expect(result?.status == 0, "\(shell): \(result?.errors ?? "")")
    }
  }
}
