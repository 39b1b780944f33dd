import CipherSQL
import SyncModel

/// What sync does to a vault, inside one transaction.
///
/// The derived triggers take what is written here as it is, neither stamping nor queueing it; ``asUser(_:)`` is the
/// exception.
package struct SyncTransaction {
  package let catalog: SyncCatalog
  package let connection: WriteConnection
  /// Milliseconds since 1970 by this device's clock.
  package let now: Int64
  /// What this device's clock lacks to the server's, in milliseconds.
  package let clockOffset: Int64
  /// Local ids of records that are referred to.
  let references = ReferenceCache()
  /// What is known of the inbox, which is empty as a rule.
  let inbox = InboxState()
  let schemaVersions = SchemaVersions()

  /// Runs a body in a transaction of the database.
  package static func run<Result>(
    on connection: WriteConnection, _ catalog: SyncCatalog, now: Int64, _ body: (SyncTransaction) throws -> Result
  ) throws -> Result {
    let offset = try SyncSettings.clockOffset(in: connection)
    return try WriteMode.sync(on: connection) {
      try body(SyncTransaction(catalog: catalog, connection: connection, now: now, clockOffset: offset))
    }
  }

  /// The time by the server's clock, as far as it is known.
  var serverNow: Int64 { now + clockOffset }

  /// Writes as a person does: stamped, queued, taking along what hangs on it.
  func asUser<Result>(_ body: () throws -> Result) throws -> Result {
    try WriteMode.person(on: connection, body)
  }
}
