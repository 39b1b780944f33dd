extension WireTime {
  // The Gregorian calendar, also before it was introduced, as ISO 8601 has it. Years are counted from March, so that
  // the leap day is the last of its year, in eras of 400 years, which all have 146,097 days.

  static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
    // 400 years are added so that nothing below is negative.
    let marchYear = year + 400 - (month <= 2 ? 1 : 0)
    let yearOfEra = marchYear % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return (marchYear / 400 - 1) * 146_097 + dayOfEra - daysFromYearZeroTo1970
  }

  static func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + daysFromYearZeroTo1970 + 146_097
    let dayOfEra = shifted % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + (shifted / 146_097 - 1) * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  /// From 1 March of the year 0 to 1 January 1970.
  private static var daysFromYearZeroTo1970: Int64 { 719_468 }
}
