import CipherSQL
import ServerStorage
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The accounts, their members and the hashes of their tokens: `directory.db`.
///
/// Several processes may use it at once. After one of them revokes a token, all of them refuse it from the next
/// request on.
public final class ServerDirectory: AccountDirectory {
  package let database: Database
  let folder: ServerFolder
  private let place: FileIdentity
  /// The UUID of the server, which stays the same for the life of the data.
  public let serverUuid: String

  /// Opens the directory of a folder. Creates it if the folder was set up and contains no data yet.
  public init(in folder: ServerFolder) throws {
    self.folder = folder
    let lock = try folder.lockForMaking()
    defer { withExtendedLifetime(lock) {} }
    let file = ServerFolder.directoryFile
    let migrator = Migrator(schemas: [DirectorySchema.schema])
    if !Files.exists(folder.path + "/" + file) {
      try folder.makeDatabase(file, keyName: Self.keyName) { database in
        try migrator.apply(to: database)
        try database.write { connection in
          _ = try connection.execute(
            "INSERT INTO ServerIdentity (id, serverUuid) VALUES (1, \(folder.environment.uuids.next()))")
        }
      }
    }
    database = try folder.openDatabase(file, keyName: Self.keyName, readers: 2)
    do {
      try Self.completeAccounts(database, folder)
      try migrator.apply(to: database)
      place = try FileIdentity(folder.path + "/" + file)
      serverUuid = try database.read { connection in
        try connection.fetchOne("SELECT serverUuid FROM ServerIdentity", as: String.self) ?? ""
      }
    } catch let error as SQLError where error.isOfDamage {
      throw ServerFolder.damage(folder.path + "/" + file, error)
    }
  }

  static let keyName = "directory"

  /// Creates the databases of accounts of version 0.1, which created them when an account was first used. Now a missing
  /// database counts as lost, so all missing databases are created once, before the migration of the directory.
  private static func completeAccounts(_ database: Database, _ folder: ServerFolder) throws {
    let accounts = try database.read { connection -> [String] in
      let version = try MigrationRecord.all(in: connection).filter { $0.schema == DirectorySchema.schema.name }.count
      guard version == 1 else { return [] }
      return try connection.fetch("SELECT folder FROM Account ORDER BY accountId", as: String.self)
    }
    for account in accounts { try folder.completeAccount(account) }
  }

  /// The clock and the random source of the server.
  package var environment: Environment { folder.environment }

  /// Closes the database.
  public func close() { database.close() }

  /// Returns the holder of a token; `nil` for an unknown, revoked or expired token.
  public func member(token: String) throws -> Member? {
    try member(hash: AccessToken.hash(of: token))
  }

  func member(hash: [UInt8]) throws -> Member? {
    try place.check()
    return try database.read { connection in
      try connection.withStatement(
        """
        SELECT tokenId, role, Member.userId, Member.name, Account.name, Account.folder, recordUuid, limitsToMembers,
          accountId
        FROM Token JOIN Member USING (userId) JOIN Account USING (accountId)
        WHERE hash = ? AND revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > ?)
        """
      ) { statement in
        try statement.bind(hash, at: 1)
        try statement.bind(environment.date, at: 2)
        guard try statement.step(), let role = TokenRole(rawValue: try statement.row.decode(at: 1)) else { return nil }
        return Member(
          tokenId: try statement.row.decode(at: 0), role: role, userId: try statement.row.decode(at: 2),
          name: try statement.row.decode(at: 3),
          account: AccountName(name: try statement.row.decode(at: 4), folder: try statement.row.decode(at: 5)),
          record: try statement.row.decode(at: 6), limitsToMembers: try statement.row.decode(at: 7),
          revokedDevices: try Self.revokedDevices(of: try statement.row.decode(at: 8), connection))
      }
    }
  }

  /// Returns whether the token that a member showed is still valid. A long request checks repeatedly, so that a
  /// revocation or an expiry ends it.
  public func isValid(_ member: Member) throws -> Bool {
    try place.check()
    return try database.read { connection in
      try connection.withStatement(
        "SELECT 1 FROM Token WHERE tokenId = ? AND revokedAt IS NULL AND (expiresAt IS NULL OR expiresAt > ?)"
      ) { statement in
        try statement.bind(member.tokenId, at: 1)
        try statement.bind(environment.date, at: 2)
        return try statement.step()
      }
    }
  }

  /// Returns all accounts.
  public func accounts() throws -> [AccountName] {
    try database.read { connection in
      try connection.fetchRows(
        "SELECT name, folder FROM Account WHERE deletedAt IS NULL ORDER BY accountId", as: String.self, String.self)
    }.map { AccountName(name: $0.0, folder: $0.1) }
  }
}

extension ServerDirectory {
  /// Returns the stored time of retention; `nil` before its start.
  public func retentionTime() throws -> Int64? {
    try database.read { try $0.fetchOne("SELECT milliseconds FROM RetentionTime", as: Int64.self) }
  }

  /// Stores the time of retention, which never steps back.
  public func storeRetentionTime(_ time: Int64) throws {
    try database.write { connection in
      _ = try connection.execute(
        """
        INSERT INTO RetentionTime (id, milliseconds) VALUES (1, \(time))
        ON CONFLICT (id) DO UPDATE SET milliseconds = max(milliseconds, excluded.milliseconds)
        """)
    }
  }

  /// Returns `true`: one server at a time uses a folder.
  public func ownsRetention(at now: Int64, until end: Int64) -> Bool { true }
}
