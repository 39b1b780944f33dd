import CipherSQL
import SyncModel

extension Vault {
  /// Accepts the deletions of the next comparison. If a comparison was held, the limit is the number that it named.
  package func acceptDeletions() throws {
    try database.write { connection in
      let held = try SyncSettings.value(.heldDeletions, in: connection)
      try SyncSettings.set(.acceptedDeletions, held ?? String(Int.max), in: connection)
    }
  }

  /// Withdraws ``acceptDeletions()`` if no comparison has used it.
  package func forgetAcceptedDeletions() throws {
    try database.write { try SyncSettings.set(.acceptedDeletions, nil, in: $0) }
  }
}
