import Foundation
import TestSupport
import Testing

@testable import WebPages

@Suite struct HTMLTests {
  /// Returns the text that a browser shows for markup without elements.
  private func shown(_ source: String) -> String {
    var text = source
    for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r")] {
      text = text.replacingOccurrences(of: entity, with: character, options: .literal)
    }
    return text.replacingOccurrences(of: "&amp;", with: "&", options: .literal)
  }

  private static func text(_ random: inout Seeded) -> String {
    let alphabet =
      Array("<>&\"'`=/;# \n\t\r\u{0}\u{1b}\u{202E}\u{200D}aé😀e\u{301}").map(String.init) + [
        "&lt;", "<script>", "]]>", "--",
      ]
    return (0..<random.number(0..<20)).map { _ in random.pick(alphabet) }.joined()
  }

  @Test("Interpolated text cannot become markup, and is shown unchanged")
  func escaping() {
    var random = Seeded()
    for _ in 0..<2000 {
      let text = Self.text(&random)
      let html: HTML = "\(text)"
      #expect(!html.source.contains { "<>\"'".contains($0) })
      #expect(shown(html.source) == text.replacingOccurrences(of: "\0", with: "\u{FFFD}", options: .literal))
    }
  }

  @Test("Only HTML values are interpolated as markup")
  func markup() {
    let name = "<b>"
    let inner: HTML = "<i>\(name)</i>"
    let outer: HTML = "<p>\(inner) \([inner, inner]) \(3)</p>"
    #expect(outer.source == "<p><i>&lt;b&gt;</i> <i>&lt;b&gt;</i><i>&lt;b&gt;</i> 3</p>")
  }

  @Test("A value shows characters that a reader could not see, and keeps the direction of the page")
  func invisibleCharacters() {
    #expect(
      HTML.value("a\u{202E}b\u{0}c\u{7F}").source
        == "<bdi>a<span class=\"invisible\">U+202E</span>b<span class=\"invisible\">U+0000</span>c"
        + "<span class=\"invisible\">U+007F</span></bdi>")
    #expect(HTML.value("line\n\ttwo, नर\u{200D}").source == "<bdi>line\n\ttwo, नर\u{200D}</bdi>")
  }

  @Test("A long value is cut between characters", arguments: [(3, "abc…"), (4, "abcd"), (0, "…")])
  func limit(_ limit: Int, _ text: String) {
    #expect(HTML.value("abcd", limit: limit).source == "<bdi>\(text)</bdi>")
  }

  @Test("A link has only characters that need no escape, and leads nowhere else")
  func links() {
    var random = Seeded()
    for _ in 0..<500 {
      let link = Link("/records").with("entity", Self.text(&random)).with("none", nil)
      #expect(link.text.hasPrefix("/records?entity="))
      #expect(
        link.text.dropFirst("/records?entity=".count).allSatisfy {
          $0.isASCII && ($0.isLetter || $0.isNumber || "%-._~".contains($0))
        })
    }
    #expect(Link("/").with("a", "b c").with("d", "é").text == "/?a=b%20c&d=%C3%A9")
  }

  @Test("The fields of a form are read as a browser sends them")
  func formFields() {
    var random = Seeded()
    for _ in 0..<500 {
      let value = String(String.UnicodeScalarView(Self.text(&random).unicodeScalars.filter { $0 != "\r" }))
      let pair = Link("").with("note", value.replacing("\n", with: "\r\n")).text.dropFirst()
      let fields = FormBody.fields(of: Array("a=1+2&\(pair)".utf8))
      #expect(fields == ["a": "1 2", "note": value])
    }
  }

  @Test(
    "A body that is no form is refused", arguments: ["a", "a=1&a=2", "a=%", "a=%4", "a=%zz", "a=%ff", "a=1&&b=2", "&"])
  func badForms(_ body: String) {
    #expect(FormBody.fields(of: Array(body.utf8)) == nil)
    #expect(FormBody.fields(of: []) == [:])
  }

  @Test("A plot draws every value, also those that are no numbers")
  func plot() {
    let plot = BarPlot("Bytes <b>", [0, 5, .infinity, .nan, -3].map { BarPlot.Bar($0, title: "t", isFailed: $0 == 0) })
    { "\($0)" }
    let source = plot.html.source
    #expect(source.components(separatedBy: "<rect").count == 6)
    #expect(source.contains("aria-label=\"Bytes &lt;b&gt;: 5 values, the greatest is 5.0\""))
    #expect(source.contains("class=\"bar failed\""))
    #expect(!source.contains("nan") && !source.contains("inf"))
  }
}
