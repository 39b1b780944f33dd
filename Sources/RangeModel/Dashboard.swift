import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The content of a first screen, with or without a network: the last numbers of the server, the last sessions with
/// their unsent work, and the number of unsent records. Reads the vault only.
public struct Dashboard: Sendable {
  /// The numbers of the server; `nil` if they were never fetched. Numbers that an older server lacks are `nil` in it.
  public let summary: AnalyticsSummary?
  /// The last sessions, of this device and of the server.
  public let recentSessions: [RangeQueries.RecentSessionsRow]
  /// The work that the server does not have.
  public let waiting: UnsentWork

  /// The time when the numbers were fetched from the server.
  public var asOf: Date? { summary?.lastSyncedAt }

  /// Whether the dashboard is empty: it has no numbers and no session.
  public var isEmpty: Bool { summary == nil && recentSessions.isEmpty }

  /// Reads the dashboard from one state of the vault.
  /// - Parameters:
  ///   - connection: a reading transaction.
  ///   - sessions: the maximum number of sessions.
  public static func read(_ connection: Connection, sessions: Int64 = 5) throws -> Dashboard {
    Dashboard(
      summary: try RangeQueries.analyticsSummary(connection),
      recentSessions: try RangeQueries.recentSessions(connection, limit: sessions),
      waiting: try UnsentWork.read(connection))
  }
}
