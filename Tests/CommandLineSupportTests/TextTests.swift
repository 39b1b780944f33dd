import Testing

@testable import CommandLineSupport

@Suite("Text for people")
struct TextTests {
  @Test(
    "Data cannot drive the terminal",
    arguments: [
      ("plain text", "plain text"), ("naïve 漢字 👩‍🚒", "naïve 漢字 👩‍🚒"),
      ("two\nlines\r\n\tand a tab", "two\\nlines\\r\\n\\tand a tab"),
      ("\u{1B}[2J\u{1B}]0;title\u{07}", "\\x1B[2J\\x1B]0;title\\x07"), ("\u{0}\u{7F}\u{9B}31m", "\\x00\\x7F\\x9B31m"),
      ("gpj.\u{202E}exe", "gpj.\\u202Eexe"), ("a\u{2028}b", "a\\u2028b"), ("", ""),
    ])
  func escapes(text: String, shown: String) {
    #expect(escaped(text) == shown)
    #expect(escaped(shown) == shown)
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

  @Test func longTextIsWrappedAtSpaces() {
    #expect(
      wrap("one two three four\nfive", width: 13, first: "x: ", indent: 3) == """
        x: one two
           three four
           five
        """)
    #expect(wrap("a-word-that-is-too-long stays", width: 10) == "a-word-that-is-too-long\nstays")
  }

  @Test func coloursAreForTerminalsThatWantThem() {
    let colours = Terminal(isTerminal: true, hasColours: true)
    #expect(colours.styled("no", .red, .bold) == "\u{1B}[31;1mno\u{1B}[0m")
    #expect(Terminal.plain.styled("no", .red) == "no")
  }

  @Test func aPipeIsNoTerminal() {
    let environment = ["TERM": "xterm", "COLUMNS": "200"]
    let terminal = PipeEnds.make().with { Terminal(descriptor: $0.write) { environment[$0] } }
    #expect(terminal == .plain)
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
    "Amounts read as people say them",
    arguments: [
      (byteText(0), "0 B"), (byteText(999), "999 B"), (byteText(1000), "1.0 kB"), (byteText(12_345_678), "12.3 MB"),
      (byteText(999_960), "1.0 MB"), (byteText(-2_000_000), "-2.0 MB"), (byteText(.max), "9.2 EB"),
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
