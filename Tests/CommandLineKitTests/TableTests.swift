import CommandLineKit
import TestSupport
import Testing

@Suite("Tables")
struct TableTests {
  private var outbox: TextTable {
    var table = TextTable(["id", "entity", "message"])
    table.add(["7", "AtmosphericLog", "the server refused it\nfor a reason"])
    table.add(["12", "Room", "漢字 \u{1B}[31mred"])
    table.add(["103", "Photo"])
    return table
  }

  @Test("A table aligns columns by display width and escapes control characters") func alignsColumnsAndEscapesData() {
    #expect(
      outbox.text(for: .plain) == #"""
         id  entity          message
          7  AtmosphericLog  the server refused it\nfor a reason
         12  Room            漢字 \x1B[31mred
        103  Photo

        """#)
  }

  @Test("Text is shortened to the width of a terminal") func textIsShortened() {
    let text = outbox.text(for: Terminal(isTerminal: true, width: 40))
    #expect(
      text == #"""
         id  entity          message
          7  AtmosphericLog  the server refused…
         12  Room            漢字 \x1B[31mred
        103  Photo

        """#)
    #expect(text.split(separator: "\n").allSatisfy { displayWidth(String($0)) <= 40 })
  }

  @Test("Ids, numbers and dates are never shortened; a table that is too wide has one field a line")
  func idsAndNumbersStayWhole() {
    var table = TextTable(["uuid", "humidity (%)", "date", "title"])
    table.add([
      "01a1fd64-7573-7000-8e94-46657598a452", "39.2", "2026-11-21T13:50:07.000Z", "The attic of the old house",
    ])
    #expect(
      table.text(for: Terminal(isTerminal: true, width: 92)) == """
        uuid                                  humidity (%)  date                      title
        01a1fd64-7573-7000-8e94-46657598a452          39.2  2026-11-21T13:50:07.000Z  The attic of …

        """)
    #expect(
      table.text(for: Terminal(isTerminal: true, width: 80)) == """
        -[ RECORD 1 ]-
        uuid          01a1fd64-7573-7000-8e94-46657598a452
        humidity (%)  39.2
        date          2026-11-21T13:50:07.000Z
        title         The attic of the old house

        """)
  }

  @Test("Long text is shortened before columns without a value are left out, and these before optional ones")
  func formsHaveAnOrder() {
    var table = TextTable(["name", "empty", "state", "note"], optional: ["state"])
    table.keepsEmptyColumns = false
    table.add(["short", "", "pending", "a note of forty characters, which is long"])
    func text(_ width: Int) -> String { table.text(for: Terminal(isTerminal: true, width: width)) }
    #expect(text(70).hasPrefix("name   empty  state    note\nshort         pending  a note of forty characters, which"))
    #expect(text(50) == "name   empty  state    note\nshort         pending  a note of forty characters…\n")
    #expect(text(41) == "name   state    note\nshort  pending  a note of forty characte…\n")
    #expect(text(31) == "name   note\nshort  a note of forty charact…\n")
    #expect(text(20) == "name   note\nshort  a note of fo…\n")
    #expect(text(15).hasPrefix("-[ RECORD 1 ]-\nname   short\nstate  pending\n"))
  }

  @Test("A table of random text fits into the width of the terminal or has one field a line")
  func fitsWhateverTheWidth() {
    var random = Seeded(of: "width of tables")
    var verticals = 0
    for _ in 0..<300 {
      var table = TextTable(["a", "b", "c", "d"])
      for _ in 0..<5 { table.add((0..<4).map { _ in random.text(upTo: 30) }) }
      let width = Int.random(in: 24...100, using: &random)
      let text = table.text(for: Terminal(isTerminal: true, width: width))
      if text.hasPrefix("-[ RECORD 1 ]-") {
        #expect(width < 46)
        verticals += 1
        continue
      }
      for line in text.split(separator: "\n") {
        #expect(displayWidth(String(line)) <= width, "seed \(random.seed), width \(width): \(line)")
      }
    }
    #expect((1..<150).contains(verticals))
  }

  @Test("A table aligns columns as declared") func alignsAsItIsTold() {
    var table = TextTable(["name", "n"], alignments: [.right, .left])
    table.add(["x", "1"])
    table.add(["yy", "10"])
    #expect(table.text(for: .plain) == "name  n\n   x  1\n  yy  10\n")
  }

  @Test("A table on a colour terminal has styled titles and rows") func stylesItsTitlesAndRows() {
    var table = TextTable(["state"])
    table.add(["failed"])
    let text = table.text(for: Terminal(isTerminal: true, hasColours: true)) { _ in .red }
    #expect(text == "\u{1B}[1mstate\u{1B}[0m\n\u{1B}[31mfailed\u{1B}[0m\n")
  }

  @Test("The rows of a long table are written in blocks, with the titles once outside of a terminal")
  func longTablesAreWrittenInBlocks() throws {
    let ends = PipeEnds.make()
    defer { ends.close() }
    let output = Output(descriptor: ends.write, terminal: .plain)
    let writer = TableWriter(TextTable(["n", "text"]), to: output)
    #expect(writer.isEmpty)
    for number in 0..<2_500 { try writer.add([String(number), number == 2_400 ? "long text" : "x"]) }
    try writer.finish()
    try output.flush()
    let lines = ends.arrived().split(separator: "\n")
    #expect(lines.count == 2_501)
    #expect(lines.first == "  n  text")
    #expect(lines.filter { $0.hasSuffix("text") }.count == 2)
    #expect(writer.omitted.isEmpty)
  }

  @Test("A column that gets its first value in a later block is shown from there on")
  func aColumnAppearsWithItsFirstValue() throws {
    let ends = PipeEnds.make()
    defer { ends.close() }
    let output = Output(descriptor: ends.write, terminal: Terminal(isTerminal: true, width: 20))
    var table = TextTable(["n", "a long title", "text"])
    table.keepsEmptyColumns = false
    let writer = TableWriter(table, to: output)
    for number in 0..<1_001 { try writer.add([String(number), number == 1_000 ? "1" : "", "some text"]) }
    try writer.finish()
    let text = ends.arrived()
    #expect(text.hasPrefix("  n  text\n  0  some text\n"))
    #expect(
      text.hasSuffix("-[ RECORD 1001 ]-\nn             1000\na long title  1\ntext          some text\n"),
      "\(text.suffix(200))")
  }
}
