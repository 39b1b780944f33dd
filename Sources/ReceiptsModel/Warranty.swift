import CipherSQL

/// The end of a warranty.
public enum Warranty {
  /// Returns the day on which a warranty of some months ends: the same day of the month, or the last one of a month
  /// that is too short. 31 January and one month are 28 or 29 February.
  ///
  /// `warrantyExpiryDate` in the table is computed in the same way by the database itself.
  /// - Returns: nil for a negative number of months, or where the year would be beyond 9999.
  public static func expiryDate(purchased: CalendarDay, months: Int) -> CalendarDay? {
    guard months >= 0 else { return nil }
    let (sum, overflows) = (purchased.year * 12 + purchased.month - 1).addingReportingOverflow(months)
    if overflows { return nil }
    let (year, month) = (sum / 12, sum % 12 + 1)
    // At most three days are subtracted, because every month has at least 28.
    for day in stride(from: purchased.day, through: min(purchased.day, 28), by: -1) {
      if let end = CalendarDay(year: year, month: month, day: day) { return end }
    }
    return nil
  }
}
