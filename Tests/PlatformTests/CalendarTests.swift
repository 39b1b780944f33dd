import Testing

@testable import Platform

@Suite struct CalendarTests {
  @Test("Each month has its days, also in leap years")
  func eachMonthHasItsDays() {
    #expect((1...12).map { Calendar.days(in: $0, of: 2024) } == [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    #expect([1900, 2000, 2023, 2024, 0].map { Calendar.isLeap($0) } == [false, true, false, true, true])
    #expect(CalendarDay(year: 2023, month: 2, day: 29) == nil)
    #expect(CalendarDay("2023-2-01") == nil)
    #expect(CalendarDay("2023-02-+1") == nil)
  }
}
