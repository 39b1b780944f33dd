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

  @Test("A table is cut to the width of a terminal") func isCutToTheWidthOfATerminalOnly() {
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

  @Test("A whole column is never cut") func keepsColumnsWholeThatAreCopiedFrom() {
    var table = TextTable(["id", "message"], whole: ["id"])
    table.add(["01a1fe68-d6ac-751d", "the server refused it"])
    #expect(
      table.text(for: Terminal(isTerminal: true, width: 30)) == #"""
        id                  message
        01a1fe68-d6ac-751d  the serve…

        """#)
    #expect(table.text(for: Terminal(isTerminal: true, width: 10)).contains("01a1fe68-d6ac-751d"))
  }

  @Test("A table of random text fits into the width of the terminal") func fitsWhateverTheWidth() {
    var random = Seeded(of: "width of tables")
    for _ in 0..<300 {
      var table = TextTable(["a", "b", "c", "d"])
      for _ in 0..<5 { table.add((0..<4).map { _ in random.text(upTo: 30) }) }
      let width = Int.random(in: 24...100, using: &random)
      for line in table.text(for: Terminal(isTerminal: true, width: width)).split(separator: "\n") {
        #expect(displayWidth(String(line)) <= width, "seed \(random.seed), width \(width): \(line)")
      }
    }
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
}
