import CommandLineKit
import Testing

@Suite("Mistakes in command lines")
struct MistakeTests {
  @Test(
    "No message repeats a possible secret or a field value",
    arguments: [
      "list Room hunter2", "key add passphrase hunter2", "put Room --passphrase=hunter2", "put Room --json=hunter2",
      "list --passphrase hunter2", "key add passphrase --pin hunter2 --pin hunter2", "sync hunter2",
      "put Room name=hunter2 --from hunter2", "--passphrase-file hunter2 --key-file hunter2 sync",
    ])
  func secrets(line: String) {
    #expect(complaint(line).hasPrefix("error: "))
    #expect(!complaint(line).contains("hunter2"))
  }

  @Test("The message about an invalid secret number does not repeat the number") func aNumberOfASecretIsNotRepeated()
    throws
  {
    let arguments = try parse("key add passphrase --pin hunter2")
    let error = #expect(throws: UsageError.self) { try arguments.integer("pin") }
    #expect(error?.message == "--pin is a whole number")
  }

  @Test("A number out of range is refused with the range") func aNumberOutOfItsRange() throws {
    let arguments = try parse("list Room --limit 0")
    let error = #expect(throws: UsageError.self) { try arguments.integer("limit", in: 1...) }
    #expect(error?.message == "--limit is a whole number from 1, not '0'")
    #expect(throws: UsageError.self) { try arguments.integer("limit", in: 5...9) }
  }

  @Test("Control characters of a mistyped command are escaped in the message") func whatWasTypedCannotDriveTheTerminal()
    throws
  {
    let error = #expect(throws: UsageError.self) { try ArgumentParser(.sample).parse(["\u{1B}[2J"]) }
    #expect(error?.message == #"fieldvault has no command '\x1B[2J'"#)
  }

  @Test("A mistyped command suggests the nearest command") func aMistypedCommand() {
    #expect(
      complaint("lsit Room") == """
        error: fieldvault has no command 'lsit'
        hint:  did you mean 'list'?
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test("A command that lacks its group suggests the full command") func aCommandOfAGroup() {
    #expect(
      complaint("remove 2") == """
        error: fieldvault has no command 'remove'
        hint:  did you mean 'key remove'?
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test("A mistyped option suggests the nearest option") func aMistypedOption() {
    #expect(
      complaint("list Room --limt 5") == """
        error: 'list' has no option '--limt'
        hint:  did you mean '--limit'?
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("An option before its command gets a hint about its place") func anOptionBeforeItsCommand() {
    #expect(
      complaint("--limit 5 list Room") == """
        error: fieldvault has no option '--limit'
        hint:  it is an option of 'list', and follows the command
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test("An option without its value shows the help for that option") func aMissingValue() {
    #expect(
      complaint("list Room --where --limit 5") == """
        error: --where needs a value
        hint:  write a value that begins with '-' as --where=-VALUE
        help:  -w, --where SQL  only records for which this holds
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("A missing argument shows the help for that argument") func aMissingArgument() {
    #expect(
      complaint("list") == """
        error: ENTITY is missing
        help:  ENTITY  the entity type, or its table
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("An additional argument is refused with a hint about quoting") func tooManyArguments() {
    #expect(
      complaint("list Room Attic") == """
        error: too many arguments: 'list' takes ENTITY
        hint:  quote a value that has spaces
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("A value outside the list of choices suggests the nearest choice") func aValueThatIsNotAllowed() {
    #expect(
      complaint("list Room --format cvs") == """
        error: --format is table, csv or ndjson, not 'cvs'
        hint:  did you mean 'csv'?
        help:  --format FORMAT  how to write them (table, csv, ndjson; default: table)
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("An option given twice is refused") func anOptionGivenTwice() {
    #expect(
      complaint("list Room -n 5 --limit 6") == """
        error: --limit is given twice
        help:  -n, --limit N  at most this many
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("A flag with a value is refused") func aFlagWithAValue() {
    #expect(
      complaint("list Room --deleted=yes") == """
        error: --deleted takes no value
        help:  -d, --deleted  deleted records too
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test("Two options that exclude each other are refused") func optionsThatExcludeEachOther() {
    #expect(
      complaint("sync --push-only --pull-only") == """
        error: --push-only and --pull-only exclude each other
        hint:  use only one of them
        usage: fieldvault sync [--push-only | --pull-only]
               See 'fieldvault help sync' for more.

        """)
  }
  @Test("A missing choice between arguments is reported with all alternatives") func aChoiceThatWasNotMade() {
    #expect(
      complaint("put Room") == """
        error: FIELD=VALUE or --from is missing
        usage: fieldvault put ENTITY (FIELD=VALUE ... | --from FILE) [--uuid UUID]
               See 'fieldvault help put' for more.

        """)
  }
  @Test("A missing required option is reported with its help") func aRequiredOption() {
    #expect(
      complaint("init") == """
        error: --schema is missing
        help:  --schema NAME_OR_FOLDER  its tables (may be repeated; required)
        usage: fieldvault init --schema NAME_OR_FOLDER ...
               See 'fieldvault help init' for more.

        """)
  }
  @Test("A command line without a command shows the usage") func noCommand() {
    #expect(
      complaint("") == """
        error: no command given
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test("A group without a command lists its commands") func aGroupWithoutItsCommand() {
    #expect(
      complaint("key") == """
        error: 'key' needs one of its commands: list, add or remove
        usage: fieldvault key COMMAND ...
               See 'fieldvault help key' for more.

        """)
  }
}
