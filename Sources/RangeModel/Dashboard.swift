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
  /// The last sessions, those of this device among those of the server.
  public let recentSessions: [RangeQueries.RecentSessionsRow]
  /// How much is not at the server.
  public let waiting: UnsentWork

  /// When the numbers of the server came.
  public var asOf: Date? { summary?.lastSyncedAt }

  /// Whether there is nothing to show: no numbers and no session.
  public var isEmpty: Bool { summary == nil && recentSessions.isEmpty }

  /// Reads it all in one state of the vault.
  /// - Parameters:
  ///   - connection: a reading transaction.
  ///   - sessions: how many sessions at most.
  public static func read(_ connection: Connection, sessions: Int64 = 5) throws -> Dashboard {
    Dashboard(
      summary: try RangeQueries.analyticsSummary(connection),
      recentSessions: try RangeQueries.recentSessions(connection, limit: sessions),
      waiting: try UnsentWork.read(connection))
  }
}
