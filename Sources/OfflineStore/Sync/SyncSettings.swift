import CipherSQL
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a vault knows of its server and of itself as a device: rows of `Setting`, inside the encrypted database.
package enum SyncSettings {
  /// The names of the rows.
  package enum Name: String, CaseIterable, Sendable {
    /// Names this device to the server.
    case deviceId
    /// The counter of the last push under the device id.
    case deviceCounter
    /// The epoch that the cursor and the versions of all records belong to.
    case epoch
    /// `device` or `cloud`.
    case mode
    case remoteURL
    /// The text of the route file, for an API that is no FieldVault server.
    case remoteRoutes
    case remoteToken
    /// Whose records these are, once a server has said so.
    case account, user, serverUuid
    /// How far this device has pulled.
    case cursor
    /// Milliseconds that this device's clock lacks to the server's.
    case clockOffset
    /// When the last round ended well, and when all records were compared last.
    case lastSync, lastReconciliation
    /// The comparison of all records after which the server was asked for its files as well.
    case filesConfirmed
    /// Why the queue is paused: the server refused the token, or lacks the schema.
    case pause
    /// The step of the round that takes long now, and since when.
    case slowStep
    case unmeteredOnly = "unmetered-only"
    /// What a person has chosen for files; see ``AttachmentSettings``.
    case storageLimit = "storage-limit"
    case unmeteredFiles = "unmetered-files"
    case upload, download, recompress
    case stripLocation = "strip-location"
    /// Set when records have to be compared at the next contact.
    case reconcileNext
    /// How many deletions a comparison asked for that was held, and how many of one comparison a user has accepted.
    case heldDeletions, acceptedDeletions
    /// Set when the active projects are followed: what the server's projects were like when they were chosen last, empty
    /// before that.
    case activeProjects
    /// Set while records of projects that are not followed any more stay because something of them is not sent.
    case leavesProjects
    /// Changed to ask a worker in another process for a round.
    case roundRequest = "nudge"
    /// Whether the first pull has come to its end.
    case isFilled
  }

  package static func value(_ name: Name, in connection: Connection) throws -> String? {
    try connection.withStatement("SELECT value FROM Setting WHERE name = ?") { statement in
      try statement.bind(name.rawValue, at: 1)
      return try statement.step() ? try statement.row.decode(Optional<String>.self, at: 0) : nil
    }
  }

  package static func set(_ name: Name, _ value: String?, in connection: WriteConnection) throws {
    guard let value else {
      try connection.execute("DELETE FROM Setting WHERE name = \(name.rawValue)")
      return
    }
    try connection.execute(
      """
      INSERT INTO Setting (name, value) VALUES (\(name.rawValue), \(value))
      ON CONFLICT (name) DO UPDATE SET value = excluded.value
      """)
  }

  /// Has all records compared at the next contact. A reason that stands already stays: following other projects means more
  /// than a comparison.
  package static func compareNext(_ reason: String, in connection: WriteConnection) throws {
    if try value(.reconcileNext, in: connection) == nil { try set(.reconcileNext, reason, in: connection) }
  }

  /// Makes this vault another device to the server, because a copy of it may push under the same id.
  package static func drawDevice(reason: String, in connection: WriteConnection) throws {
    try set(.deviceId, nil, in: connection)
    try set(.deviceCounter, nil, in: connection)
    try compareNext(reason, in: connection)
  }

  /// Asks the worker that runs, in this process or another, for a round.
  package static func requestRound(in connection: WriteConnection) throws {
    try set(.roundRequest, newIdentifier(), in: connection)
  }

  package static func clockOffset(in connection: Connection) throws -> Int64 {
    try value(.clockOffset, in: connection).flatMap { Int64($0) } ?? 0
  }

  /// A new UUID of version 7 in text.
  static func newIdentifier() -> String { UUID.version7().sqlText }
}
