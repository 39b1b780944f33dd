import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A reminder that a warranty ends.
public struct WarrantyReminder: Hashable, Sendable, Identifiable {
  /// The uuid of the receipt.
  public let receipt: UUID
  /// The shop, if it is known.
  public let storeName: String?
  /// The day on which the warranty ends.
  public let expiryDate: CalendarDay
  /// The number of days between the reminder and the end of the warranty.
  public let daysBefore: Int
  /// The day of the reminder.
  public let date: CalendarDay

  /// The identifier, equal for the same receipt and number of days. A notification scheduled under it is replaced and
  /// not shown twice.
  public var id: String { "\(receipt.uuidString.lowercased())/\(daysBefore)" }
}

extension WarrantyReminder {
  /// The default days before the end on which a user is reminded: a month, a week and a day.
  public static let usualDaysBefore = [30, 7, 1]

  /// Returns the next reminders, the earliest first.
  ///
  /// ```swift
  /// for reminder in try WarrantyReminder.next(from: today, in: db) { schedule(reminder.id, on: reminder.date) }
  /// ```
  /// - Parameters:
  ///   - today: the user's own day; reminders of today are among them.
  ///   - daysBefore: the numbers of days before the end, 0 for the last day itself. Negative numbers are left out.
  ///   - limit: the most that are wanted; systems keep a limited number of notifications.
  public static func next(
    from today: CalendarDay, daysBefore: [Int] = usualDaysBefore, limit: Int = 64, in connection: Connection
  ) throws -> [WarrantyReminder] {
    let days = try JSONText(encoding: Set(daysBefore.filter { $0 >= 0 }).sorted())
    return try ReceiptsQueries.reminders(connection, daysBefore: days, today: today, limit: max(limit, 0)).map { row in
      WarrantyReminder(
        receipt: row.uuid, storeName: row.storeName, expiryDate: row.expiryDate, daysBefore: Int(row.daysBefore),
        date: row.date)
    }
  }
}

extension Database {
  /// The next reminders, now and after each write or sync of this process that changed them; see
  /// ``WarrantyReminder/next(from:daysBefore:limit:in:)``.
  ///
  /// ```swift
  /// for try await reminders in vault.database.warrantyReminders(from: today) { await scheduler.replaceAll(with:
  /// reminders) }
  /// ```
  /// The day does not change. Begin again on the next day.
  public func warrantyReminders(
    from today: CalendarDay, daysBefore: [Int] = WarrantyReminder.usualDaysBefore, limit: Int = 64
  ) -> Observation<[WarrantyReminder]> {
    observe { try WarrantyReminder.next(from: today, daysBefore: daysBefore, limit: limit, in: $0) }
  }
}
