import CipherSQL
import Foundation
import Testing

/// Conditions: the Swift expression, its SQL, and the resulting rows.
@Suite struct WhereTests {
  let database: Database

  init() throws { database = try Database.house() }

  private func check(
    _ query: Query<Room>, _ condition: String, _ titles: [String], location: SourceLocation = #_sourceLocation
  ) throws {
    let text = try query.sql.text
    let written = text.components(separatedBy: " WHERE ").dropFirst().joined(separator: " WHERE ")
      .replacingOccurrences(of: " AND t0.isDeleted = 0", with: "")
    #expect(written == condition, sourceLocation: location)
    let found = try database.read { try query.order { $0.roomId.ascending }.fetch($0) }
    #expect(found.map(\.title) == titles, sourceLocation: location)
  }

  @Test("A query gives the complete SQL statement with its arguments") func theWholeStatement() throws {
    let sql = try Room.where { $0.projectId == 1 && $0.squareFootage > 10 }
      .order { [$0.updatedAt.descending, $0.roomId.ascending] }
      .limit(50, offset: 10).sql
    #expect(
      sql.text == """
        SELECT t0.roomId, t0.uuid, t0.projectId, t0.title, t0.status, t0.squareFootage, t0.floor, t0.note, \
        t0.updatedAt, t0.isDeleted FROM OfflineRoom AS t0 \
        WHERE t0.projectId = ? AND t0.squareFootage > ? AND t0.isDeleted = 0 \
        ORDER BY t0.updatedAt DESC, t0.roomId LIMIT ? OFFSET ?
        """)
    #expect(sql.arguments == [.integer(1), .real(10), .integer(50), .integer(10)])
  }

  @Test("Comparisons become SQL operators") func comparisons() throws {
    try check(Room.where { $0.floor == 1 }, "t0.floor = ?", ["Kitchen"])
    try check(Room.where { $0.floor != 1 }, "t0.floor <> ?", ["Attic", "Cellar"])
    try check(Room.where { $0.floor < 1 }, "t0.floor < ?", ["Cellar"])
    try check(Room.where { $0.floor <= 1 }, "t0.floor <= ?", ["Kitchen", "Cellar"])
    try check(Room.where { $0.floor > 1 }, "t0.floor > ?", ["Attic"])
    try check(Room.where { $0.floor >= 1 }, "t0.floor >= ?", ["Attic", "Kitchen"])
    try check(Room.where { $0.floor == $0.roomId }, "t0.floor = t0.roomId", [])
    try check(Room.where { $0.roomId > $0.floor }, "t0.roomId > t0.floor", ["Kitchen", "Cellar"])
  }

  @Test("Comparisons with optionals follow Swift") func optionalsReadAsInSwift() throws {
    try check(Room.where { $0.note == nil }, "t0.note IS NULL", ["Kitchen", "Cellar"])
    try check(Room.where { $0.note != nil }, "t0.note IS NOT NULL", ["Attic"])
    try check(Room.where { $0.note == "damp" }, "t0.note IS ?", ["Attic"])
    try check(Room.where { $0.note != "damp" }, "t0.note IS NOT ?", ["Kitchen", "Cellar"])
    try check(Room.where { !($0.note == "damp") }, "NOT t0.note IS ?", ["Kitchen", "Cellar"])
    let missing: String? = nil
    try check(Room.where { $0.note == missing }, "t0.note IS NULL", ["Kitchen", "Cellar"])
    let floor: Int64? = 2
    try check(Room.where { $0.floor == floor }, "t0.floor = ?", ["Attic"])
    try check(Room.where { $0.squareFootage < 150 }, "t0.squareFootage < ?", ["Attic"])
    try check(Room.where { $0.note == $0.title }, "t0.note IS t0.title", [])
    try check(Room.where { $0.note.isNull }, "t0.note IS NULL", ["Kitchen", "Cellar"])
    try check(Room.where { ($0.note ?? "dry") == "dry" }, "coalesce(t0.note, ?) = ?", ["Kitchen", "Cellar"])
  }

  @Test("Enumerations and dates can be compared") func enumerationsAndDates() throws {
    try check(Room.where { $0.status == .done }, "t0.status = ?", ["Kitchen"])
    // A case named `none` is the case and not a missing value.
    try check(Room.where { $0.status == .none }, "t0.status = ?", ["Cellar"])
    try check(Room.where { $0.status.in([.none, .done]) }, "t0.status IN (?, ?)", ["Kitchen", "Cellar"])
    let (start, end) = (Date(millisecondsSince1970: 86_400_000), Date(millisecondsSince1970: 2 * 86_400_000))
    try check(Room.where { $0.updatedAt.between(start...end) }, "t0.updatedAt BETWEEN ? AND ?", ["Attic", "Cellar"])
    try check(Room.where { $0.updatedAt.between(start..<end) }, "t0.updatedAt >= ? AND t0.updatedAt < ?", ["Attic"])
  }

  @Test("Logical operators keep their precedence") func logic() throws {
    try check(
      Room.where { ($0.floor == 1 || $0.floor == 2) && $0.status == .active },
      "(t0.floor = ? OR t0.floor = ?) AND t0.status = ?", ["Attic"])
    try check(
      Room.where { $0.floor == 1 || $0.floor == 2 && $0.status == .active },
      "(t0.floor = ? OR t0.floor = ? AND t0.status = ?)", ["Attic", "Kitchen"])
    try check(Room.where { !($0.floor == 1 || $0.floor == 2) }, "NOT (t0.floor = ? OR t0.floor = ?)", ["Cellar"])
    try check(Room.where { !$0.isDeleted }, "NOT t0.isDeleted", ["Attic", "Kitchen", "Cellar"])
    try check(Room.where { $0.floor > 0 }.where { $0.floor < 2 }, "t0.floor > ? AND t0.floor < ?", ["Kitchen"])
  }

  @Test("Arithmetic operators keep their precedence") func arithmetic() throws {
    try check(Room.where { $0.floor + $0.roomId * 2 > 5 }, "t0.floor + t0.roomId * ? > ?", ["Cellar"])
    try check(Room.where { ($0.floor + 1) * 2 == 4 }, "(t0.floor + ?) * ? = ?", ["Kitchen"])
    try check(Room.where { $0.roomId - ($0.floor - 1) == 4 }, "t0.roomId - (t0.floor - ?) = ?", ["Cellar"])
    try check(Room.where { $0.squareFootage / 2 == 60 }, "t0.squareFootage / ? IS ?", ["Attic"])
    try check(Room.where { $0.floor / 0 == nil }, "t0.floor / ? IS NULL", ["Attic", "Kitchen", "Cellar"])
    try check(Room.where { -$0.floor < -1 }, "-(t0.floor) < ?", ["Attic"])
  }

  @Test("Lists and ranges become IN and BETWEEN") func lists() throws {
    try check(Room.where { $0.roomId.in([1, 3, 9]) }, "t0.roomId IN (?, ?, ?)", ["Attic", "Cellar"])
    try check(Room.where { $0.roomId.in([]) }, "t0.roomId IN ()", [])
    try check(Room.where { !$0.roomId.in([]) }, "NOT t0.roomId IN ()", ["Attic", "Kitchen", "Cellar"])
    try check(Room.where { $0.floor.between(1...2) }, "t0.floor BETWEEN ? AND ?", ["Attic", "Kitchen"])
  }

  @Test("Text functions escape their patterns") func text() throws {
    try check(Room.where { $0.title.like("_itchen") }, "t0.title LIKE ?", ["Kitchen"])
    try check(Room.where { $0.title.contains("ell") }, "t0.title LIKE ? ESCAPE ?", ["Cellar"])
    try check(Room.where { $0.title.hasPrefix("A") }, "t0.title LIKE ? ESCAPE ?", ["Attic"])
    try check(Room.where { $0.title.hasPrefix("%") || $0.title.contains("_") }, both, [])
    try check(Room.where { $0.title.lowercased == "attic" }, "lower(t0.title) = ?", ["Attic"])
    try check(Room.where { $0.title.length == 6 }, "length(t0.title) IS ?", ["Cellar"])
    try check(Room.where { $0.floor.cast(to: String.self) == "2" }, "CAST(t0.floor AS TEXT) = ?", ["Attic"])
    try check(
      Room.where { SQLTerm<Bool>("\($0.title) GLOB \("*c")") && $0.floor == 2 }, "(t0.title GLOB ?) AND t0.floor = ?",
      ["Attic"])
  }

  private let both = "(t0.title LIKE ? ESCAPE ? OR t0.title LIKE ? ESCAPE ?)"

  @Test("Special characters of a pattern match themselves")
  func theSpecialCharactersOfAPatternStandForThemselves() throws {
    try database.write { db in
      for (index, title) in ["100%", "100x", "a_b", "axb", "back\\slash"].enumerated() {
        try db.insert(
          Room(projectId: 2, title: title, floor: Int64(10 + index), updatedAt: Date(millisecondsSince1970: 0)))
      }
    }
    func titles(_ query: Query<Room>) throws -> [String] { try database.read { try query.fetch($0).map(\.title) } }
    #expect(try titles(Room.where { $0.title.contains("0%") }) == ["100%"])
    #expect(try titles(Room.where { $0.title.hasPrefix("a_") }) == ["a_b"])
    #expect(try titles(Room.where { $0.title.hasSuffix("\\slash") }) == ["back\\slash"])
  }
}
