import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How much of the sessions is not at the server.
public struct UnsentWork: Hashable, Sendable {
  /// Sessions of which something waits: the number on a badge.
  public let sessions: Int64
  /// Records that wait, deletions among them.
  public let records: Int64
  /// The records that the server refused. They wait for the user.
  public let failed: Int64
  /// The records with an open conflict.
  public let contested: Int64
  /// Since when the oldest of them waits; nil where nothing does.
  public let since: Date?
  /// The pictures whose files were not sent yet.
  public let images: Int64
  /// Their bytes.
  public let imageBytes: Int64

  /// Whether nothing waits, neither a record nor a picture.
  public var isEmpty: Bool { records == 0 && images == 0 }

  /// Returns whether there is so much unsent work that the user should look for a network.
  /// - Parameters:
  ///   - records: the number of records from which this is true.
  ///   - imageBytes: the bytes of pictures from which this is true.
  public func isMuch(records: Int64 = 500, imageBytes: Int64 = 500_000_000) -> Bool {
    self.records >= records || self.imageBytes >= imageBytes
  }

  /// Counts it.
  /// - Parameter connection: a reading transaction.
  public static func read(_ connection: Connection) throws -> UnsentWork {
    let row = try RangeQueries.howMuchWaits(connection)
    return UnsentWork(
      sessions: row?.sessions ?? 0, records: row?.records ?? 0, failed: row?.failed ?? 0,
      contested: row?.contested ?? 0, since: row?.since, images: row?.images ?? 0, imageBytes: row?.imageBytes ?? 0)
  }
}
