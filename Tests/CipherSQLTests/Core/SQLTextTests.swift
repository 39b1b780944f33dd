import CipherSQL
import TestSupport
import Testing

@Suite struct SQLTextTests {
  @Test("Tokens cover any text without gaps") func tokensCoverTheTextWithoutAGap() {
    var generator = Seeded(testSeed)
    let pieces = Array("'\"`[]-/*;?:@$#xX09az_ \n.()é").map(String.init) + ["--", "/*", "*/", "''", "x'", "SELECT"]
    for _ in 0..<5000 {
      let text = (0..<Int.random(in: 0...20, using: &generator))
        .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
      let bytes = Array(text.utf8)
      var end = 0
      for token in SQLText.tokens(of: bytes) {
        #expect(token.range.lowerBound == end && !token.range.isEmpty, "seed \(testSeed), text \(text)")
        end = token.range.upperBound
      }
      #expect(end == bytes.count, "seed \(testSeed), text \(text)")
    }
  }

  @Test("Quoted text is one token") func quotedTextIsOneToken() {
    var generator = Seeded(testSeed)
    for _ in 0..<2000 {
      let text = (0..<Int.random(in: 0...12, using: &generator))
        .map { _ in ["'", "\"", ";", "--", "/*", "x", "?"].randomElement(using: &generator) ?? "" }.joined()
      let string = "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
      for (sql, kind) in [(string, SQLText.Kind.string), (SQL.quoted(text), .quotedName)] {
        let tokens = SQLText.tokens(of: Array((sql + ";").utf8))
        #expect(tokens.map(\.kind) == [kind, .symbol], "seed \(testSeed), \(sql)")
      }
    }
  }

  @Test("Each token has its kind") func kinds() {
    func kinds(_ sql: String) -> [SQLText.Kind] {
      SQLText.tokens(of: Array(sql.utf8)).map(\.kind).filter { $0 != .space }
    }
    #expect(kinds("SELECT a.b FROM [t x]") == [.word, .word, .symbol, .word, .word, .quotedName])
    #expect(kinds("x'0a' X'' xy 1.5e3") == [.blob, .blob, .word, .number])
    #expect(
      kinds("?1 :a @b $c ? -- to the end ;") == [.parameter, .parameter, .parameter, .parameter, .parameter, .comment])
    #expect(kinds("/* ; */ ; 'open") == [.comment, .symbol, .unfinished])
    #expect(kinds("`a``b`") == [.quotedName])
  }

  @Test("Text of white space, comments and semicolons is blank") func blankText() {
    for text in ["", " \n", ";", "-- x", "/* x", " ; -- x\n;"] { #expect(SQLText.isBlank(text.utf8), "\(text)") }
    for text in ["x", "; x", "/**/1", "'", "\0"] { #expect(!SQLText.isBlank(text.utf8), "\(text)") }
  }
}
