import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The age of the records of an entity that the server owns, such as rifles, users or materials.
public struct FetchedState: Hashable, Sendable {
  /// The entity.
  public let entityType: String
  /// The time of the last complete fetch.
  public let fetchedAt: Date
  /// The problem of the last fetch, for the user.
  public let problem: String?

  package init(entityType: String, fetchedAt: Date, problem: String?) {
    (self.entityType, self.fetchedAt, self.problem) = (entityType, fetchedAt, problem)
  }
}

extension SyncTransaction {
  /// Stores that a list was fetched.
  package func note(_ list: FetchedList) throws {
    let time = WireTime.text(now)
    let fetchedAt = list.isWhole ? time : nil
    try connection.execute(
      """
      INSERT INTO SyncFetch (entityType, fetchedAt, triedAt, problem) VALUES (\(list.entityType), \(fetchedAt.sqlArgument), \(time), \(list.problem.sqlArgument))
      ON CONFLICT (entityType) DO UPDATE SET
        fetchedAt = coalesce(excluded.fetchedAt, fetchedAt), triedAt = excluded.triedAt, problem = excluded.problem
      """)
  }
}
