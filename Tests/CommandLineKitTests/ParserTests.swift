import CommandLineKit
import Testing

@Suite("Parsing of command lines")
struct ParserTests {
  @Test(
    "Each spelling of an option is accepted",
    arguments: [
      "list Room --limit 5", "list Room --limit=5", "list Room -n 5", "list Room -n5", "ls --limit 5 Room",
      "ls -n5 -- Room",
    ])
  func spellings(line: String) throws {
    let arguments = try parse(line)
    #expect(arguments.command == "list")
    #expect(arguments.value("ENTITY") == "Room")
    #expect(try arguments.integer("limit", in: 1...) == 5)
  }

  @Test("Short flags can be combined, and repeated flags are counted") func flagsMayStandInAGroup() throws {
    let arguments = try parse("ls -qdvn7 Room")
    #expect(arguments.flag("quiet") && arguments.flag("deleted") && arguments.flag("verbose"))
    #expect(try arguments.integer("limit") == 7)
    #expect(!arguments.flag("json"))
    #expect(try parse("ls -vv Room").count("verbose") == 2)
  }

  @Test(
    "Global options are accepted before and after the command",
    arguments: [
      "--vault job.vault --json list Room", "list Room --vault job.vault --json", "--json list --vault=job.vault Room",
    ])
  func globals(line: String) throws {
    let arguments = try parse(line)
    #expect(arguments.flag("json"))
    #expect(arguments.value("vault") == "job.vault")
    #expect(arguments.value("ENTITY") == "Room")
  }

  @Test("A lone dash is a value") func aLoneDashIsAValue() throws {
    #expect(try parse("put Room --from -").value("from") == "-")
    #expect(try parse("query -").value("SQL") == "-")
  }

  @Test("Negative numbers are values") func negativeNumbersAreValues() throws {
    #expect(try parse("put Room a=1 -5 -.5 -1e3").values("FIELD=VALUE") == ["a=1", "-5", "-.5", "-1e3"])
    #expect(try parse("list Room --limit -5").integer("limit") == -5)
  }

  @Test("A value with spaces may begin with dashes") func sqlMayBeginWithAComment() throws {
    let sql = "-- every room\nSELECT title FROM OfflineRoom"
    #expect(try ArgumentParser(.sample).parse(["query", sql]).value("SQL") == sql)
    #expect(try ArgumentParser(.sample).parse(["list", "Room", "--where", "- x = 1"]).value("where") == "- x = 1")
  }

  @Test("Two dashes end the options") func twoDashesEndTheOptions() throws {
    #expect(try parse("query -- --json").value("SQL") == "--json")
    #expect(try parse("put Room -- --json -h").values("FIELD=VALUE") == ["--json", "-h"])
  }

  @Test("A subcommand has the path of its group") func subcommandsHaveAPath() throws {
    let arguments = try parse("key remove 2 3")
    #expect(arguments.path == ["key", "remove"])
    #expect(try arguments.integers("SLOT", in: 1...) == [2, 3])
  }

  @Test("A list option takes the words that follow, and repeating the option adds to the list")
  func aListOptionTakesTheWordsThatFollow() throws {
    #expect(try parse("init --schema restoration range --quiet").values("schema") == ["restoration", "range"])
    #expect(try parse("init --schema restoration --schema range").values("schema") == ["restoration", "range"])
  }

  @Test("An assignment option takes only assignments") func anAssignmentOptionTakesAssignmentsOnly() throws {
    let arguments = try parse("query --param a=1 b=2 SELECT")
    #expect(arguments.values("param") == ["a=1", "b=2"])
    #expect(arguments.value("SQL") == "SELECT")
  }

  @Test("An option that is not given has its default value") func aDefaultStandsInForWhatIsNotGiven() throws {
    let arguments = try parse("list Room")
    #expect(arguments.value("format") == "table")
    #expect(!arguments.isGiven("format"))
    #expect(arguments.value("limit") == nil)
    #expect(arguments.values("limit").isEmpty)
  }

  @Test(
    "A request for help is recognized in each form",
    arguments: [
      ("--help", []), ("-h", []), ("help", []), ("list --help", ["list"]), ("--help ls", ["list"]),
      ("help key add", ["key", "add"]), ("key help", ["key"]), ("key add -h", ["key", "add"]),
      ("list --limt 3 --help", ["list"]), ("list Room --where --help", ["list"]),
    ])
  func help(line: String, path: [String]) throws {
    let arguments = try parse(line)
    #expect(arguments.request == .help)
    #expect(arguments.path == path)
  }

  @Test("The version is available as an option and as a command") func versionIsAnOptionAndACommand() throws {
    #expect(try parse("--version").request == .version)
    #expect(try parse("version").command == "version")
  }

  @Test("The sample program has no declaration problems") func theSampleHasNoProblems() {
    #expect(Program.sample.problems() == [])
  }

  @Test("Contradictory declarations are reported") func aWrongDescriptionIsFound() {
    let program = Program(
      name: "tool", version: "1", summary: "",
      commands: [
        CommandDescription(
          "copy", summary: "", arguments: [.any("FROM", ""), .required("TO", "")],
          options: [.flag("all", short: "h", "")], choices: [Choice("some")],
          examples: [Example("tool copy --evrything a b", "")]),
        CommandDescription("copy", summary: ""),
      ])
    #expect(
      program.problems() == [
        "tool: copy is declared twice", "copy: -h is declared twice", "copy: only the last argument may repeat",
        "copy: a required argument follows an optional one", "copy: a choice names some, which is not declared",
        "example does not parse: tool copy --evrything a b: 'copy' has no option '--evrything'",
      ])
  }
}

@Suite("Groups with a default command")
struct DefaultCommandTests {
  private let program = Program(
    name: "tool", version: "1", summary: "a tool",
    commands: [
      CommandDescription(
        "box", summary: "a box",
        subcommands: [
          CommandDescription("list", summary: "lists", options: [.flag("all", short: "a", "all of them")]),
          CommandDescription("show", summary: "shows", arguments: [.required("ID", "the id")]),
        ], defaultSubcommand: "list")
    ])

  @Test(
    "A group runs its default command, which an option of that command selects too",
    arguments: [("box", "box list"), ("box list", "box list"), ("box --all", "box list"), ("box -a", "box list")])
  func runsItsDefault(line: String, command: String) throws {
    let arguments = try ArgumentParser(program).parse(line.split(separator: " ").map(String.init))
    #expect(arguments.command == command)
    #expect(arguments.flag("all") == line.contains("-"))
  }

  @Test("An option of the default command does not precede another command") func optionsSelectTheDefault() {
    let error = #expect(throws: UsageError.self) { try ArgumentParser(program).parse(["box", "--all", "show", "1"]) }
    #expect(error?.message == "too many arguments: 'box list' takes no arguments")
  }

  @Test("Help names the default command, and help of the group is not the help of its default") func helpNamesIt()
    throws
  {
    let help = program.help(["box"])
    #expect(help.contains("Usage: tool box [COMMAND ...]"))
    #expect(help.contains("Without a command, 'box list' runs."))
    #expect(try program.help(for: ArgumentParser(program).parse(["box", "--help"])) == help)
    #expect(program.manual().contains("Without a command,"))
  }

  @Test("A default that is unknown or requires arguments is a problem of the description") func problems() {
    var wrong = program
    wrong.commands[0].defaultSubcommand = "show"
    #expect(wrong.problems() == ["box: the default show requires arguments"])
    wrong.commands[0].defaultSubcommand = "none"
    #expect(wrong.problems() == ["box: the default none is not one of its commands"])
    #expect(program.problems().isEmpty)
  }
}
