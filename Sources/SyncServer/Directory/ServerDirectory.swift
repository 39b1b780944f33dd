import CipherSQL

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Who a token belongs to.
public struct Member: Hashable, Sendable {
  /// The number of the user.
  public let userId: Int64
  /// The name of the user.
  public let name: String
  /// Whose records the user sees.
  public let account: AccountName
}

/// An account, by the name that people gave it and the name of its folder.
public struct AccountName: Hashable, Sendable {
  /// The name.
  public let name: String
  /// The folder of its records; says nothing about whose it is.
  public let folder: String

  /// An account.
  public init(name: String, folder: String) { (self.name, self.folder) = (name, folder) }
}

/// The accounts, their members and the hashes of their tokens: `directory.db`.
///
/// Several processes may use it at once: a token that one of them revokes is refused by all from the next request on.
public final class ServerDirectory: Sendable {
  let database: Database
  /// Stays the same for the life of the data.
  public let serverUuid: String

  /// Opens the directory of a folder, making it when it is missing.
  public init(in folder: ServerFolder) throws {
    let lock = try FolderLock.waiting(folder.path + "/lock")
    defer { withExtendedLifetime(lock) {} }
    database = try folder.openDatabase("directory.db", keyName: "directory", readers: 2)
    try Migrator(schemas: [DirectorySchema.schema], willApply: { _ in }, didApply: { _, _ in }).apply(to: database)
    serverUuid = try database.write { connection in
      try connection.execute(
        "INSERT INTO ServerIdentity (id, serverUuid) VALUES (1, \(UUID.version7())) ON CONFLICT DO NOTHING")
      return try connection.fetchOne("SELECT serverUuid FROM ServerIdentity", as: String.self) ?? ""
    }
  }

  /// Closes the database.
  public func close() { database.close() }

  /// Who a token belongs to; nil for one that is not valid or not valid any more.
  func member(token: String) throws -> Member? {
    let hash = AccessToken.hash(of: token)
    return try database.read { connection in
      try connection.withStatement(
        """
        SELECT Member.userId, Member.name, Account.name, Account.folder
        FROM Token JOIN Member USING (userId) JOIN Account USING (accountId)
        WHERE hash = ? AND revokedAt IS NULL
        """
      ) { statement in
        try statement.bind(hash, at: 1)
        guard try statement.step() else { return nil }
        return Member(
          userId: try statement.row.decode(at: 0), name: try statement.row.decode(at: 1),
          account: AccountName(name: try statement.row.decode(at: 2), folder: try statement.row.decode(at: 3)))
      }
    }
  }

  /// All accounts.
  package func accounts() throws -> [AccountName] {
    try database.read { connection in
      try connection.fetchRows("SELECT name, folder FROM Account ORDER BY accountId", as: String.self, String.self)
    }.map { AccountName(name: $0.0, folder: $0.1) }
  }
}
