/// The position of a deletion in the order in which deletions are forgotten.
public struct RetentionCursor: Hashable, Sendable {
  /// The server's time of the deletion, in milliseconds since 1970-01-01 UTC.
  public let storedAt: Int64
  /// The number of the deletion in the account's sequence.
  public let sequence: Int64

  /// Creates a position from its parts.
  public init(storedAt: Int64, sequence: Int64) { (self.storedAt, self.sequence) = (storedAt, sequence) }
}

extension RecordStorage {
  /// The number of records whose ancestors one transaction examines.
  private static var cascadesPerWrite: Int { 25 }

  /// Applies pending deletions or restorations of ancestors to records, so that reads return their final state.
  package func applyPendingCascades(_ account: AccountName, _ names: [RecordName]) async throws {
    guard try await read(account, { try $0.hasJobs }) else { return }
    for part in stride(from: 0, to: names.count, by: Self.cascadesPerWrite) {
      let some = names[part..<min(part + Self.cascadesPerWrite, names.count)]
      try await write(account) { data in for name in some { _ = try data.isDeleted(name) } }
    }
  }

  /// The number of responses or deletions that one transaction examines.
  private static var forgottenPerWrite: Int { 100 }

  /// Forgets responses and deletions from before a time, in bounded transactions. Stops when the task is cancelled.
  package func forget(_ account: AccountName, before time: Int64) async throws {
    let limit = Self.forgottenPerWrite
    while try await write(account, { try $0.forgetResponses(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    while try await write(account, { try $0.forgetTombstones(before: time, atMost: limit) }) {
      try Task.checkCancellation()
    }
    // A record that other records reference stays. Removed records release the records that they referenced.
    var forgotten = 0
    repeat {
      forgotten = 0
      var place: RetentionCursor?
      repeat {
        try Task.checkCancellation()
        let step = try await write(account) { [place] data in
          try data.forgetDeletions(before: time, after: place, atMost: limit)
        }
        forgotten += step.forgotten
        place = step.last
      } while place != nil
    } while forgotten > 0
  }
}
