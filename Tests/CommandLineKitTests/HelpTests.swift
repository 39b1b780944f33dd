import CommandLineKit
import Testing

@Suite("Help")
struct HelpTests {
  @Test("Help fits the width of the terminal", arguments: [50, 80, 100])
  func width(columns: Int) {
    for path in [[], ["list"], ["put"], ["query"], ["key"], ["key", "add"], ["completions"]] {
      let text = Program.sample.help(path, terminal: Terminal(isTerminal: true, width: columns))
      for line in text.split(separator: "\n") where !line.hasPrefix("  $ ") {
        #expect(displayWidth(String(line)) <= columns, "\(line)")
      }
    }
  }

  @Test("Help and completions omit hidden commands") func leavesOutWhatIsHidden() {
    #expect(!Program.sample.help().contains("dump"))
    #expect(!Shell.allCases.contains { Program.sample.completions(for: $0).contains("dump") })
  }

  @Test("The program's help lists commands, options, examples and exit codes") func ofTheProgram() {
    #expect(
      Program.sample.help() == """
        Keeps field records encrypted on this device and syncs them when there is a
        network.

        Usage: fieldvault [OPTIONS] COMMAND ...

        Vault:
          init         make a vault

        Records:
          list, ls     records of one kind
          put          create or change a record
          query        run SQL

        Sync:
          sync         one round with the server

        Keys:
          key          the ways to unlock the vault

        Other:
          completions  a script that completes this program's words in a shell
          version      the version of this program

        Options, before or after the command:
              --vault PATH            the vault
              --passphrase-file FILE  unlock with the first line of FILE
              --key-file FILE         unlock with a key file
              --json                  one JSON document on standard output
          -q, --quiet                 no progress and no hints
          -h, --help                  show help for the program or the command
              --version               show the version

        Examples:
          $ fieldvault init --schema restoration
            make a vault for restoration work

        Exit codes:
          0 done; 1 failed: see the message; 2 usage error; 3 cannot unlock: wrong or
          missing passphrase or key; 4 no such vault, entity or record; 5 damaged data;
          6 busy: another process holds the vault; 7 offline, server unreachable, or
          device-only mode; 8 done, but conflicts or failed operations need a decision;
          9 no space left on the device; 10 refused: a constraint, an invalid value or a
          pending migration; 11 the server refused the token: missing, revoked or of
          another account; 130 interrupted

        See 'fieldvault help COMMAND' for a command, and 'fieldvault help exit-codes'
        for the exit codes.

        """)
  }

  @Test("A command's help lists arguments, options, examples and exit codes") func ofACommand() {
    #expect(
      Program.sample.help(["list"]) == """
        fieldvault list: records of one kind

        Usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]

        Also called: ls

        Deleted records are left out unless they are asked for.

        Arguments:
          ENTITY  the entity type, or its table

        Options:
          -w, --where SQL      only records for which this holds
          -n, --limit N        at most this many
              --format FORMAT  how to write them (table, csv, ndjson; default: table)
          -d, --deleted        deleted records too
          -v, --verbose        more columns

        Examples:
          $ fieldvault list AtmosphericLog -n 5
            the first five readings
          $ fieldvault ls Room --where "title = 'Attic'" --json | jq
            one room, for another program

        Exit codes:
          0  done
          1  failed: see the message
          2  usage error
          3  cannot unlock: wrong or missing passphrase or key
          4  no such vault, entity or record

        See 'fieldvault help' for the options that every command has.

        """)
  }

  @Test("A group's help lists its commands") func ofAGroup() {
    #expect(
      Program.sample.help(["key"]) == """
        fieldvault key: the ways to unlock the vault

        Usage: fieldvault key COMMAND ...

        Commands:
          list    every slot
          add     one more way to unlock
          remove  take a way away

        See 'fieldvault help' for the options that every command has.

        """)
  }

  @Test("An example whose effect is clear is one line") func plainExample() {
    let program = Program(
      name: "tool", version: "1", summary: "",
      commands: [
        CommandDescription(
          "copy", summary: "copies",
          examples: [Example("tool copy", ""), Example("tool copy --all", "copies everything")])
      ])
    let help = program.help(["copy"], terminal: Terminal(isTerminal: false, width: 80))
    #expect(help.contains("Examples:\n  $ tool copy\n  $ tool copy --all\n    copies everything\n"), "\(help)")
  }
}
