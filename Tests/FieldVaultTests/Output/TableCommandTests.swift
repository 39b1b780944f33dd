import Foundation
import TestSupport
import Testing

@Suite("Tables of commands")
struct TableCommandTests {
  private func reading(_ shop: Workshop) throws {
    try shop.done(
      "put", "AtmosphericLog", "projectId=1", "roomId=1", "date=2026-07-01T22:30:00Z", "relativeHumidity=39.2",
      "temperature=71.5", "-q")
  }

  private func screen(_ shop: Workshop, _ arguments: [String]) throws -> [String] {
    let (status, lines) = try shop.screen(arguments)
    #expect(status == 0, "\(lines)")
    return lines
  }

  @Test("A number is the shortest text that reads back equal, and the title has its unit")
  func numbersAreShort() throws {
    let shop = try Workshop()
    try reading(shop)
    let table = try shop.done("list", "AtmosphericLog", "--columns", "relativeHumidity,temperature").output
    #expect(table == "relativeHumidity (%)  temperature (°F)\n                39.2              71.5\n")
    let queried = try shop.done("query", "SELECT relativeHumidity AS rh FROM OfflineAtmosphericLog").output
    #expect(queried == "rh (%)\n  39.2\n")
  }

  @Test("Outside of a terminal a table keeps all columns and whole cells")
  func aPipeKeepsWholeRows() throws {
    let shop = try Workshop()
    let long = String(repeating: "long ", count: 60) + "end"
    try shop.done("put", "Room", "--uuid", Workshop.room, "title=\(long)", "-q")
    let ran = try shop.run(["list", "Room"], environment: ["COLUMNS": "40"])
    #expect(ran.lines.count == 2)
    #expect(ran.lines[1].contains(long) && ran.lines[1].contains(Workshop.room))
    #expect(ran.errors.isEmpty)
  }

  @Test("A table that does not fit a terminal has one field a line and names the columns without a value")
  func aNarrowTerminalShowsOneFieldALine() throws {
    let shop = try Workshop()
    let lines = try screen(shop, ["list", "Room"])
    #expect(lines.first == "-[ RECORD 1 ]-")
    #expect(lines.contains("uuid                   \(Workshop.room)"))
    #expect(lines.contains("squareFootage (sq ft)  120.5"))
    #expect(lines.contains("Columns without a value are not shown: locationId, roomType, level."), "\(lines)")
    #expect(lines.contains("The rows do not fit into 80 columns. For a table: --columns A,B,C"), "\(lines)")
    for line in try screen(shop, ["list", "Room", "--columns", "uuid,title,squareFootage"]) {
      #expect(line.count <= 80 && !line.hasPrefix("-["))
    }
    let outbox = try screen(shop, ["outbox"])
    #expect(outbox.first == "id                                    operation       priority  status")
    #expect(outbox.contains("Columns that do not fit are not shown: record. To show them: --vertical"), "\(outbox)")
    #expect(try screen(shop, ["outbox", "--vertical"]).contains("record     \(Workshop.room)"))
  }

  @Test("A pager shows the table of a terminal unless it is disabled")
  func aPagerShowsTheTable() throws {
    let shop = try Workshop()
    let environment = ["TERM": "xterm", "NO_COLOR": "1", "PAGER": "sed 's/^/| /'"]
    let words = ["list", "Room", "--columns", "title"]
    #expect(try shop.screen(words, environment: environment).lines == ["| title", "| Attic"])
    #expect(try shop.screen(words + ["--no-pager"], environment: environment).lines == ["title", "Attic"])
    #expect(try shop.run(words, environment: environment).output == "title\nAttic\n")
    // The user leaves the pager before the end.
    let left = try shop.screen(words, environment: environment.merging(["PAGER": "true"]) { $1 })
    #expect(left.status == 0 && left.lines.isEmpty)
  }

  @Test("--columns selects and orders the fields of each format")
  func columnsAreSelected() throws {
    let shop = try Workshop()
    let columns = ["--columns", "title,uuid,isAccessible"]
    #expect(
      try shop.done("list", "Room", columns[0], columns[1], "--format", "csv").output
        == "title,uuid,isAccessible\nAttic,\(Workshop.room),true\n")
    #expect(
      try shop.done("list", "Room", columns[0], columns[1], "--json").output
        == #"[{"title":"Attic","uuid":"\#(Workshop.room)","isAccessible":true}]"# + "\n")
    #expect(
      try shop.done("list", "Room", columns[0], columns[1], "--format", "json").output
        == shop.done("list", "Room", columns[0], columns[1], "--json").output)
    #expect(try shop.done("get", "Room", "1", "--columns", "title").output == "title  Attic\n")
    #expect(
      try shop.done("query", "SELECT title, level FROM OfflineRoom", "--columns", "level", "--format", "csv").output
        == "level\n\n")
  }

  @Test(
    "A wrong field of --columns or a contradictory format is refused",
    arguments: [
      BadCase(["list", "Room", "--columns", "titel"], 4, "Room has no field 'titel'", "did you mean 'title'?"),
      BadCase(["get", "Room", "1", "--columns", "uuid,titel"], 4, "did you mean 'title'?"),
      BadCase(["query", "SELECT title FROM OfflineRoom", "--columns", "tite"], 4, "did you mean 'title'?"),
      BadCase(["list", "Room", "--columns", "title,,uuid"], 2, "--columns has an empty name"),
      BadCase(["list", "Room", "--columns", "title,title"], 2, "--columns names a field twice: title"),
      BadCase(["list", "Room", "--json", "--format", "csv"], 2, "--json and --format csv exclude each other"),
      BadCase(["list", "Room", "--format", "cvs"], 2, "table, csv or json", "did you mean 'csv'?"),
    ])
  func wrongOptions(_ wrong: BadCase) throws { try wrong.check() }

  @Test("--local shows times with the name of the zone, and leaves dates and other formats unchanged")
  func localTimes() throws {
    let shop = try Workshop()
    try reading(shop)
    try shop.done("put", "Project", "title=2026-07-01T22:30:00.000Z", "-q")
    func run(_ words: String...) throws -> String {
      let ran = try shop.run(words + ["--local"], environment: ["TZ": "CET-1CEST,M3.5.0,M10.5.0"])
      #expect(ran.status == 0, "\(ran.errors)")
      return ran.output
    }
    #expect(try run("list", "AtmosphericLog", "--columns", "date") == "date\n2026-07-02 00:30:00 CEST\n")
    #expect(try run("get", "AtmosphericLog", "1", "--columns", "date") == "date  2026-07-02 00:30:00 CEST\n")
    #expect(try run("list", "AtmosphericLog", "--columns", "date", "--json").contains("2026-07-01T22:30:00.000Z"))
    #expect(
      try run("list", "AtmosphericLog", "--columns", "date", "--format", "csv").contains("2026-07-01T22:30:00.000Z"))
    #expect(try run("query", "SELECT max(date) AS d FROM OfflineAtmosphericLog") == "d\n2026-07-02 00:30:00 CEST\n")
    #expect(try run("query", "SELECT '2026-01-01' AS d") == "d\n2026-01-01\n")
    // A text field is not a time, whatever it says.
    #expect(try run("list", "Project", "--where", "projectId = 2", "--columns", "title").contains("22:30:00.000Z"))
  }

  @Test("CSV keeps every character of a value outside of a terminal")
  func csvKeepsEveryCharacter() throws {
    let shop = try Workshop()
    let title = "tab\there, zero\u{200B}width"
    try shop.done("put", "Room", "--uuid", Workshop.room, "title=\(title)", "-q")
    for words in [["list", "Room", "--format", "csv"], ["export", "Room", "--format", "csv"]] {
      #expect(try shop.run(words).output.contains(title), "\(words)")
    }
  }
}
