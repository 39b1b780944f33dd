@testable import CipherSQL
import TestSupport
import Testing

/// The calendar against SQLite's own.
@Suite struct CalendarTests {
  @Test("Days since 1970 agree with SQLite") func daysAsSQLiteCountsThem() throws {
    var generator = Seeded(testSeed)
    let days = (0..<3000).map { _ in Int.random(in: -719_528...2_932_896, using: &generator) }
    try Database.inMemory().read { db in
      for day in days + [-719_528, 2_932_896, 0, -1, 11_016, 11_017] {
        let date = Calendar.date(daysSince1970: day)
        #expect(Calendar.daysSince1970(year: date.year, month: date.month, day: date.day) == day)
        let text = CalendarDay(year: date.year, month: date.month, day: date.day)?.description ?? "none"
        let julian = try db.fetchOne("SELECT julianday(\(text))", as: Double.self)
        #expect(julian == Double(day) + 2_440_587.5, "seed \(testSeed), day \(day), \(text)")
      }
    }
  }
}
