import CommandLineKit
import Testing

@Suite("A mistake is answered with what is wrong, help for that argument, and the usage line")
struct MistakeTests {
  @Test(
    "No message repeats what could be a secret or a field value",
    arguments: [
      "list Room hunter2", "key add passphrase hunter2", "put Room --passphrase=hunter2", "put Room --json=hunter2",
      "list --passphrase hunter2", "key add passphrase --pin hunter2 --pin hunter2", "sync hunter2",
      "put Room name=hunter2 --from hunter2", "--passphrase-file hunter2 --key-file hunter2 sync",
    ])
  func secrets(line: String) {
    #expect(complaint(line).hasPrefix("error: "))
    #expect(!complaint(line).contains("hunter2"))
  }

  @Test func aNumberOfASecretIsNotRepeated() throws {
    let arguments = try parse("key add passphrase --pin hunter2")
    let error = #expect(throws: UsageError.self) { try arguments.integer("pin") }
    #expect(error?.message == "--pin is a whole number")
  }

  @Test func aNumberOutOfItsRange() throws {
    let arguments = try parse("list Room --limit 0")
    let error = #expect(throws: UsageError.self) { try arguments.integer("limit", in: 1...) }
    #expect(error?.message == "--limit is a whole number from 1, not '0'")
    #expect(throws: UsageError.self) { try arguments.integer("limit", in: 5...9) }
  }

  @Test func whatWasTypedCannotDriveTheTerminal() throws {
    let error = #expect(throws: UsageError.self) { try ArgumentParser(.sample).parse(["\u{1B}[2J"]) }
    #expect(error?.message == #"fieldvault has no command '\x1B[2J'"#)
  }

  @Test func aMistypedCommand() {
    #expect(
      complaint("lsit Room") == """
        error: fieldvault has no command 'lsit'
        hint:  did you mean 'list'?
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test func aCommandOfAGroup() {
    #expect(
      complaint("remove 2") == """
        error: fieldvault has no command 'remove'
        hint:  did you mean 'key remove'?
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test func aMistypedOption() {
    #expect(
      complaint("list Room --limt 5") == """
        error: 'list' has no option '--limt'
        hint:  did you mean '--limit'?
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func anOptionBeforeItsCommand() {
    #expect(
      complaint("--limit 5 list Room") == """
        error: fieldvault has no option '--limit'
        hint:  it is an option of 'list', and stands after the command
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test func aMissingValue() {
    #expect(
      complaint("list Room --where --limit 5") == """
        error: --where needs a value
        hint:  a value that begins with '-' is given as --where=-VALUE
        help:  -w, --where SQL  only records for which this holds
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func aMissingArgument() {
    #expect(
      complaint("list") == """
        error: ENTITY is missing
        help:  ENTITY  the entity type, or its table
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func tooManyArguments() {
    #expect(
      complaint("list Room Attic") == """
        error: too many arguments: 'list' takes ENTITY
        hint:  quote a value that has spaces
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func aValueThatIsNotAllowed() {
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
  @Test func anOptionGivenTwice() {
    #expect(
      complaint("list Room -n 5 --limit 6") == """
        error: --limit is given twice
        help:  -n, --limit N  at most this many
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func aFlagWithAValue() {
    #expect(
      complaint("list Room --deleted=yes") == """
        error: --deleted takes no value
        help:  -d, --deleted  deleted records too
        usage: fieldvault list ENTITY [--where SQL] [--limit N]
               [--format table|csv|ndjson] [--deleted] [--verbose]
               See 'fieldvault help list' for more.

        """)
  }
  @Test func optionsThatExcludeEachOther() {
    #expect(
      complaint("sync --push-only --pull-only") == """
        error: --push-only and --pull-only exclude each other
        hint:  give one of them
        usage: fieldvault sync [--push-only | --pull-only]
               See 'fieldvault help sync' for more.

        """)
  }
  @Test func aChoiceThatWasNotMade() {
    #expect(
      complaint("put Room") == """
        error: FIELD=VALUE or --from is missing
        usage: fieldvault put ENTITY (FIELD=VALUE ... | --from FILE) [--uuid UUID]
               See 'fieldvault help put' for more.

        """)
  }
  @Test func aRequiredOption() {
    #expect(
      complaint("init") == """
        error: --schema is missing
        help:  --schema NAME_OR_FOLDER  its tables (may be repeated; required)
        usage: fieldvault init --schema NAME_OR_FOLDER ...
               See 'fieldvault help init' for more.

        """)
  }
  @Test func noCommand() {
    #expect(
      complaint("") == """
        error: no command given
        usage: fieldvault [OPTIONS] COMMAND ...
               See 'fieldvault help' for more.

        """)
  }
  @Test func aGroupWithoutItsCommand() {
    #expect(
      complaint("key") == """
        error: 'key' needs one of its commands: list, add or remove
        usage: fieldvault key COMMAND ...
               See 'fieldvault help key' for more.

        """)
  }
}
