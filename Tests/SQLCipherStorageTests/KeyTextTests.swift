import CipherSQL
import TestSupport
import Testing

@testable import ServerStorage

/// The texts of key values are equal if and only if SQLite considers the values as equal.
@Suite struct KeyTextTests {
  private static let values: [SQLArgument] = [
    .null, .integer(0), .integer(1), .integer(-1), .integer(.max), .integer(1 << 53), .real(0), .real(-0.0), .real(1),
    .real(1.5), .real(9_007_199_254_740_992), .real(1e300), .real(9.3e18), .text(""), .text("a"), .text("A"),
    .text("a "),
    .text(" a"), .text("a  "), .text("1"), .text("é"), .text("É"), .text("e\u{301}"), .text("z"), .text("Z"),
    .text("a\tb"),
    .text(String(repeating: "x", count: 200)), .text(String(repeating: "x", count: 201)), .blob([]), .blob([0x61]),
    .blob([0]),
  ]

  @Test(
    "A text is equal for values that a unique index does not distinguish", arguments: ["BINARY", "NOCASE", "RTRIM"])
  func single(collation: String) throws {
    let database = try Database.inMemory()
    defer { database.close() }
    for left in Self.values {
      for right in Self.values {
        let isEqual = try database.read { connection in
          try connection.fetchOne(
            "SELECT \(left) = \(right) COLLATE \(identifier: collation)", as: Bool?.self)
        }
        let texts = [left, right].map { KeyText.of([$0], collations: [collation]) }
        let isSame = texts[0] != nil && texts[0] == texts[1]
        #expect(isSame == (isEqual?.flatMap { $0 } ?? false), "\(left) and \(right) by \(collation)")
      }
    }
  }

  @Test("Values of several columns have one text if each of them is equal")
  func several() {
    func text(_ values: [SQLArgument]) -> String? {
      KeyText.of(values, collations: values.map { _ in "BINARY" })
    }
    #expect(text([.text("a"), .text("bc")]) != text([.text("ab"), .text("c")]))
    #expect(text([.text("a"), .text("tb")]) != text([.text("at"), .text("b")]))
    #expect(text([.text("a"), .text("2:tb")]) != text([.text("a2:tb"), .text("")]))
    #expect(text([.text("a"), .null]) == nil)
    #expect(text([.integer(1), .text("a")]) == text([.real(1), .text("a")]))
  }
}
