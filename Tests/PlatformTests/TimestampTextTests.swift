import Foundation
import Testing

@testable import Platform

@Suite struct TimestampTextTests {
  @Test("Times are written as Foundation writes them, with milliseconds")
  func writing() {
    // Whole seconds from Foundation; its milliseconds suffer from binary fractions.
    for second in [0, 951_782_400, 1_772_348_709, 4_102_444_799, 253_402_300_799] as [Int64] {
      let expected = Date(timeIntervalSince1970: Double(second)).formatted(.iso8601)
      let written = TimestampText.text(second * 1000 + 4)
      #expect(written == expected.dropLast() + ".004Z")
      #expect(TimestampText.isCanonical(written))
    }
  }

  @Test("A time outside of the years 0 to 9999 becomes the nearest time that has a text")
  func limits() {
    #expect(TimestampText.text(.max) == "9999-12-31T23:59:59.999Z")
    #expect(TimestampText.text(.min) == "0000-01-01T00:00:00.000Z")
  }

  @Test(
    "Texts of moments that the calendar lacks are refused",
    arguments: [
      "2026-13-01T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-01-01T00:00:00Z", "",
    ])
  func refusing(text: String) { #expect(!TimestampText.isCanonical(text)) }
}
