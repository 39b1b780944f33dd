import Platform
import TestSupport
import Testing

@testable import CommandLineKit

@Suite("Text for a terminal")
struct TextTests {
  @Test(
    "Data cannot drive the terminal",
    arguments: [
      ("plain text", "plain text"), ("naïve 漢字 👩‍🚒", "naïve 漢字 👩‍🚒"),
      ("two\nlines\r\n\tand a tab", "two\\nlines\\r\\n\\tand a tab"),
      ("\u{1B}[2J\u{1B}]0;title\u{07}", "\\x1B[2J\\x1B]0;title\\x07"), ("\u{0}\u{7F}\u{9B}31m", "\\x00\\x7F\\x9B31m"),
      ("a\u{200B}b\u{200C}c\u{200D}d", "a\\u200Bb\\u200Cc\\u200Dd"), ("\u{2060}\u{FEFF}\u{AD}", "\\u2060\\uFEFF\\xAD"),
      ("\u{E0041}\u{3164}\u{34F}", "\\u{E0041}\\u3164\\u034F"), ("\u{61C}\u{2066}x\u{2069}", "\\u061C\\u2066x\\u2069"),
      ("gpj.\u{202E}exe", "gpj.\\u202Eexe"), ("a\u{2028}b", "a\\u2028b"), ("", ""),
    ])
  func escapes(text: String, shown: String) {
    #expect(escaped(text) == shown)
    #expect(escaped(shown) == shown)
  }

  @Test("What is written as text cannot drive the terminal; line breaks and own styles stay")
  func writtenText() throws {
    let terminal = Terminal(isTerminal: true, hasColours: true)
    let styled = terminal.styled("error:", .red, .bold)
    for (text, colours, shown) in [
      (styled + " a\nb\n", true, styled + " a\nb\n"), (styled, false, "\\x1B[31;1merror:\\x1B[0m"),
      ("\u{1B}[8m\u{1B}[2J\u{1B}]0;x\u{07}\u{9B}1m", true, "\\x1B[8m\\x1B[2J\\x1B]0;x\\x07\\x9B1m"),
      ("\u{1B}[", true, "\\x1B["), ("\u{1B}", true, "\\x1B"), ("\u{1B}[m", true, "\\x1B[m"),
      ("a\rb\u{200B}", true, "a\\rb\\u200B"),
    ] {
      #expect(presentable(text, hasColours: colours) == shown)
    }
    let ends = PipeEnds.make()
    defer { ends.close() }
    let output = Output(descriptor: ends.write, terminal: .plain)
    try output.line("a\u{1B}[31mb")
    try output.write("c\u{202E}\n")
    try output.flush()
    #expect(ends.arrived() == "a\\x1B[31mb\nc\\u202E\n")
  }

  @Test("A text of many lines is written as each of its lines is escaped")
  func writtenLines() {
    var random = Seeded(of: "written lines")
    for _ in 0..<300 {
      let lines = (0..<8).map { _ in random.text(upTo: 20).replacing("\n", with: "") }
      let shown = presentable(lines.joined(separator: "\n"), hasColours: false)
      #expect(shown == lines.map(escaped).joined(separator: "\n"), "seed \(random.seed)")
    }
  }

  @Test("Texts that differ never become one when they are written in ASCII")
  func asciiEscaping() {
    let texts = [
      "a", "\u{430}", "\\u0430", "\\\\u0430", "e\u{301}", "\u{E9}", "\\xE9", "a\u{200D}", "\n", "\\n", "", " ",
    ]
    #expect(Set(texts.map { Array(asciiEscaped($0).utf8) }).count == texts.count)
    #expect(texts.allSatisfy { asciiEscaped($0).utf8.allSatisfy { (0x20..<0x7F).contains($0) } })
    #expect(appearance("a\u{A0}b\u{200B} ") == "a b")
  }

  @Test(
    "Width is counted in columns",
    arguments: [
      ("", 0), ("room", 4), ("Größe", 5), ("e\u{301}te\u{301}", 3), ("漢字", 4), ("ｶﾅ", 2), ("한국", 4), ("👩‍🚒", 2), ("🇩🇪", 2),
      ("❤", 1), ("❤️", 2), ("a\u{200B}b", 2), ("…", 1), ("Ａ", 2),
    ])
  func width(text: String, columns: Int) {
    #expect(displayWidth(text) == columns)
  }

  @Test(
    "Text is cut between characters",
    arguments: [
      ("room", 4, "room"), ("rooms", 4, "roo…"), ("漢字漢", 4, "漢…"), ("漢字漢", 5, "漢字…"), ("ab", 1, "…"), ("ab", 0, ""),
      ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
    ])
  func cut(text: String, columns: Int, shown: String) {
    #expect(truncated(text, to: columns) == shown)
  }

  @Test("Long text wraps at spaces with an indent") func longTextIsWrappedAtSpaces() {
    #expect(
      wrap("one two three four\nfive", width: 13, first: "x: ", indent: 3) == """
        x: one two
           three four
           five
        """)
    #expect(wrap("a-word-that-is-too-long stays", width: 10) == "a-word-that-is-too-long\nstays")
  }

  @Test("Styles apply only to terminals with colours") func coloursAreForTerminalsThatWantThem() {
    let colours = Terminal(isTerminal: true, hasColours: true)
    #expect(colours.styled("no", .red, .bold) == "\u{1B}[31;1mno\u{1B}[0m")
    #expect(Terminal.plain.styled("no", .red) == "no")
  }

  @Test("A pipe has no terminal features") func aPipeIsNoTerminal() {
    let environment = ["TERM": "xterm", "COLUMNS": "200"]
    let terminal = PipeEnds.make().with { Terminal(descriptor: $0.write) { environment[$0] } }
    #expect(terminal == .plain)
  }

  @Test("COLUMNS overrides the width of a terminal") func columnsOverrideTheWidth() throws {
    let pair = try PipeEnds.pseudoTerminal()
    defer { pair.close() }
    #expect(Terminal(descriptor: pair.write) { ["COLUMNS": "132"][$0] }.width == 132)
    #expect(Terminal(descriptor: pair.write) { ["COLUMNS": "wide"][$0] }.width == 80)
  }

  @Test(
    "A pseudo-terminal has colours unless they are refused",
    arguments: [
      (["TERM": "xterm"], false, true), (["TERM": "dumb"], false, false), ([:], false, false),
      (["TERM": "xterm", "NO_COLOR": "1"], false, false), (["TERM": "xterm", "NO_COLOR": ""], false, true),
      (["TERM": "xterm"], true, false),
    ])
  func colours(environment: [String: String], noColor: Bool, expected: Bool) throws {
    let pair = try PipeEnds.pseudoTerminal()
    defer { pair.close() }
    let terminal = Terminal(descriptor: pair.write, noColor: noColor) { environment[$0] }
    #expect(terminal.isTerminal)
    #expect(terminal.width == 80)
    #expect(terminal.hasColours == expected)
    #expect(terminal.canRedraw == (environment["TERM"] == "xterm"))
  }

  @Test(
    "Amounts are formatted with units",
    arguments: [
      (byteText(0), "0 B"), (byteText(999), "999 B"), (byteText(1000), "1.0 kB"), (byteText(12_345_678), "12.3 MB"),
      (byteText(999_960), "1.0 MB"), (byteText(-2_000_000), "-2.0 MB"), (byteText(Int.max), "9.2 EB"),
      (countText(7), "7"), (countText(1000), "1,000"), (countText(-1_234_567), "-1,234,567"),
      (countText(.min), "-9,223,372,036,854,775,808"),
      (durationText(0), "0.0 s"), (durationText(0.42), "0.4 s"), (durationText(0.97), "1 s"),
      (durationText(200), "3 min 20 s"),
      (durationText(7500), "2 h 5 min"), (durationText(273_700), "3 d 4 h"), (durationText(.infinity), "long"),
    ])
  func amounts(text: String, expected: String) {
    #expect(text == expected)
  }
}
