import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The work on sessions that the server does not have.
public struct UnsentWork: Hashable, Sendable {
  /// The number of sessions with unsent work, for a badge.
  public let sessions: Int64
  /// The number of unsent records, including deletions.
  public let records: Int64
  /// The records that the server refused. They wait for the user.
  public let failed: Int64
  /// The records with an open conflict.
  public let contested: Int64
  /// The time since which the oldest unsent record waits; `nil` if no record waits.
  public let since: Date?
  /// The pictures whose files were not sent yet.
  public let images: Int64
  /// The number of bytes of these pictures.
  public let imageBytes: Int64

  /// Whether no record and no picture is unsent.
  public var isEmpty: Bool { records == 0 && images == 0 }

  /// Returns whether the amount of unsent work exceeds a limit, so that the user should connect to a network.
  /// - Parameters:
  ///   - records: the number of records from which this is true.
  ///   - imageBytes: the bytes of pictures from which this is true.
  public func isMuch(records: Int64 = 500, imageBytes: Int64 = 500_000_000) -> Bool {
    self.records >= records || self.imageBytes >= imageBytes
  }

  /// Counts the unsent work.
  /// - Parameter connection: a reading transaction.
  public static func read(_ connection: Connection) throws -> UnsentWork {
    let row = try RangeQueries.howMuchWaits(connection)
    return UnsentWork(
      sessions: row?.sessions ?? 0, records: row?.records ?? 0, failed: row?.failed ?? 0,
      contested: row?.contested ?? 0, since: row?.since, images: row?.images ?? 0, imageBytes: row?.imageBytes ?? 0)
  }
}
