import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a first screen shows, with a network and without: the numbers that the server last told, the last sessions with
/// what waits among them, and how much waits. Reads the vault only.
public struct Dashboard: Sendable {
  /// The numbers of the server; nil where they never came. What an older server does not tell is nil in it.
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
