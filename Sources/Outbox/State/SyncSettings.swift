import CipherSQL
import SchemaModel
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The settings of sync: rows of the table `Setting` in the encrypted database.
package enum SyncSettings {
  /// The names of the rows.
  package enum Name: String, CaseIterable, Sendable {
    /// The id of this device at the server.
    case deviceId
    /// The counter of the last push under the device id.
    case deviceCounter
    /// The epoch that the cursor and the versions of all records belong to.
    case epoch
    /// `device` or `cloud`.
    case mode
    case remoteURL
    /// The text of the route file of a REST remote.
    case remoteRoutes
    case remoteToken
    /// The command of the user whose output is a new token.
    case remoteTokenCommand
    /// The PEM-encoded certificates of authorities that the server's certificate may have, besides those of the system.
    case remoteAuthorities
    /// The account of the records, after a server has named it.
    case account, user, serverUuid
    /// The position of the last pull.
    case cursor
    /// The time by the server's clock minus the time by this device's clock, in milliseconds.
    case clockOffset
    /// The times of the last successful round and of the last comparison of all records.
    case lastSync, lastReconciliation
    /// The comparison of all records after which the server was asked for its files as well, or
    /// ``SyncSettings/filesAreDoubtful``.
    case filesConfirmed
    /// The reason why sync is paused: the server refused the token, or lacks the schema.
    case pause
    /// The long-running step of the current round, and its start.
    case slowStep
    case unmeteredOnly = "unmetered-only"
    /// The user's choices for files; see ``AttachmentSettings``.
    case storageLimit = "storage-limit"
    case unmeteredFiles = "unmetered-files"
    case upload, download, recompress
    case stripLocation = "strip-location"
    /// Whether clean records leave when the device is revoked.
    case removeWhenRevoked = "remove-when-revoked"
    /// Set when the server has told that the device is revoked. The next token gives it another id.
    case isRevoked
    /// The reason to compare all records at the next contact.
    case reconcileNext
    /// Set while a comparison runs that began after the last request for one.
    case isComparing
    /// The number of deletions of a held comparison, and the number of deletions of one comparison that a user has
    /// accepted.
    case heldDeletions, acceptedDeletions
    /// Set when the device follows the active projects: the state of the server's projects at the last choice, empty
    /// before the first.
    case activeProjects
    /// Set while records are left of projects that are no longer followed.
    case leavesProjects
    /// Set if the cursor is behind records of entities that this vault does not know. A comparison follows the next schema
    /// file.
    case lacksEntities
    /// Set while records are left that are linked to a former server: the last record without a link, as `[TYPE, LOCAL ID]`.
    case forgottenRecord
    /// Set while files are left that count as held by a former server: the last content without such a file.
    case forgottenFile
    /// Changed to request a round from a worker in another process.
    case roundRequest = "nudge"
    /// Whether the first pull has reached its end.
    case isFilled
  }

  /// The value of ``Name/filesConfirmed`` between the first contact with a new epoch and the next question for files.
  package static let filesAreDoubtful = "doubtful"

  package static func value(_ name: Name, in connection: Connection) throws -> String? {
    try SettingRow.value(name.rawValue, in: connection)
  }

  package static func set(_ name: Name, _ value: String?, in connection: WriteConnection) throws {
    try SettingRow.set(name.rawValue, value, in: connection)
  }

  /// Requests a comparison of all records at the next contact, or after the first pull if that has begun and not ended. An
  /// earlier reason stays. A comparison that runs already does not count, because it does not know of the request.
  package static func compareNext(_ reason: String, in connection: WriteConnection) throws {
    // The first pull brings everything, if it has not begun.
    guard try value(.isFilled, in: connection) != nil || value(.cursor, in: connection) != nil else { return }
    if try value(.reconcileNext, in: connection) == nil { try set(.reconcileNext, reason, in: connection) }
    try set(.isComparing, nil, in: connection)
  }

  /// Draws a new device id, because a copy of this vault may push under the same id.
  package static func drawDevice(reason: String, in connection: WriteConnection) throws {
    try set(.deviceId, nil, in: connection)
    try set(.deviceCounter, nil, in: connection)
    try compareNext(reason, in: connection)
  }

  /// Requests a round from the running worker, in this process or another.
  package static func requestRound(in connection: WriteConnection) throws {
    try set(.roundRequest, newIdentifier(in: connection), in: connection)
  }

  package static func clockOffset(in connection: Connection) throws -> Int64 {
    try value(.clockOffset, in: connection).flatMap { Int64($0) } ?? 0
  }

  /// Returns a new UUID of version 7 as text.
  static func newIdentifier(in connection: Connection) -> String { connection.environment.uuids.next().sqlText }
}
