import Foundation
import Testing

@testable import SyncModel

/// Times on the wire: one form, read and written without a loss.
@Suite struct WireTimeTests {
  @Test(
    "A time converts between text and milliseconds",
    arguments: [
      ("1970-01-01T00:00:00.000Z", 0), ("2026-03-01T08:00:00.000Z", 1_772_352_000_000),
      ("1969-12-31T23:59:59.999Z", -1), ("2000-02-29T23:59:59.001Z", 951_868_799_001),
      ("0000-01-01T00:00:00.000Z", -62_167_219_200_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func aTimeIsReadAndWritten(text: String, milliseconds: Int64) {
    #expect(WireTime.milliseconds(text) == milliseconds)
    #expect(WireTime.text(milliseconds) == text)
  }

  @Test(
    "A time in any other form is refused",
    arguments: [
      "", "2026-03-01", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00.000", "2026-03-01 08:00:00.000Z",
      "2026-03-01T08:00:00.000+", "2026-02-29T08:00:00.000Z", "2026-13-01T08:00:00.000Z", "2026-00-01T08:00:00.000Z",
      "2026-03-00T08:00:00.000Z", "2026-04-31T08:00:00.000Z", "2026-03-01T24:00:00.000Z", "2026-03-01T08:60:00.000Z",
      "2016-12-31T23:59:60.000Z", "2026-03-01T08:00:00.00aZ", "-026-03-01T08:00:00.000Z", "1900-02-29T00:00:00.000Z",
      "2026-03-01T08:00:00.000z", "2026-03-01T08:00:00.000Z ", "٢٠٢٦-03-01T08:00.000Z",
    ])
  func anotherFormIsNoTime(text: String) {
    #expect(WireTime.milliseconds(text) == nil)
  }

  @Test("Dates agree with Foundation") func everyDayAgreesWithFoundation() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
    // 1583 is the first whole year in which Foundation counts as ISO 8601 does.
    for day in stride(from: Int64(-141_000), to: 2_900_000, by: 97) {
      let milliseconds = day * 86_400_000 + 45_296_789
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = calendar.dateComponents([.year, .month, .day], from: date)
      let text = WireTime.text(milliseconds)
      #expect(text == String(format: "%04d-%02d-%02dT12:34:56.789Z", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0))
      #expect(WireTime.milliseconds(text) == milliseconds)
    }
  }

  @Test("Times out of range are clamped to the years 0000 to 9999") func whatCannotBeWrittenIsBroughtToTheNearest() {
    #expect(WireTime.text(.max) == "9999-12-31T23:59:59.999Z")
    #expect(WireTime.text(.min) == "0000-01-01T00:00:00.000Z")
  }
}
