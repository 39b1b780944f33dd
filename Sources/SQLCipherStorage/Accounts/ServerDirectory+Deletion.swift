import CipherSQL
import ServerStorage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ServerDirectory {
  /// Begins the deletion of an account.
  public func beginDeletion(of name: String, by member: Member?) throws -> AccountName {
    let account = try database.write { connection in try beginDeletion(of: name, by: member, connection) }
    try emptyLog()
    return account
  }

  private func beginDeletion(
    of name: String, by member: Member?, _ connection: WriteConnection
  ) throws -> AccountName {
    let found = try connection.fetchRows(
      "SELECT accountId, folder, deletedAt IS NOT NULL FROM Account WHERE name = \(name)", as: Int64.self, String.self,
      Bool.self
    ).first
    guard let (id, place, hasBegun) = found else { throw ServerError.noSuchAccount(name) }
    let account = AccountName(name: name, folder: place)
    // Another account may have got the name of a deleted one.
    if let member, member.account != account { throw ServerError.noSuchAccount(name) }
    if hasBegun { return account }
    let users = try connection.fetchOne("SELECT count(*) FROM Member WHERE accountId = \(id)", as: Int.self) ?? 0
    if let member, !member.mayDeleteAccount(users: users) { throw ServerError.otherUsers(name) }
    try connection.execute(
      """
      UPDATE AuditEntry SET details = \(account.auditText),
        user = \(Member.auditNumberPrefix) || (SELECT userId FROM Member WHERE Member.name = AuditEntry.user)
      WHERE user IN (SELECT name FROM Member WHERE accountId = \(id))
      """)
    try connection.execute(
      """
      UPDATE AuditEntry SET actor = \(Member.auditNumberPrefix)
        || (SELECT userId FROM Member WHERE \(Member.auditNamePrefix) || Member.name = AuditEntry.actor)
      WHERE actor IN (SELECT \(Member.auditNamePrefix) || name FROM Member WHERE accountId = \(id))
      """)
    try connection.execute(
      "DELETE FROM Token WHERE userId IN (SELECT userId FROM Member WHERE accountId = \(id))")
    try connection.execute("DELETE FROM DeviceContact WHERE accountId = \(id)")
    try connection.execute("DELETE FROM Member WHERE accountId = \(id)")
    try connection.execute("UPDATE Account SET deletedAt = \(environment.date) WHERE accountId = \(id)")
    try note(.deleted(account), by: member?.auditNumber, connection)
    return account
  }

  /// Returns the accounts whose deletion has begun and not ended.
  public func deletions() throws -> [AccountName] {
    try database.read { connection in
      try connection.fetchRows(
        "SELECT name, folder FROM Account WHERE deletedAt IS NOT NULL ORDER BY accountId", as: String.self, String.self)
    }.map { AccountName(name: $0.0, folder: $0.1) }
  }

  /// Returns the number of records and stored responses of an account.
  public func contents(of account: AccountName) throws -> AccountContents {
    let records: Database
    do {
      records = try AccountDatabase.records.open(account.folder, in: folder)
    } catch let error as ServerError where error.code == .damaged {
      // The deletion also removes a damaged database, whose rows cannot be counted, and may have removed it already.
      return AccountContents()
    }
    defer { records.close() }
    return try records.read { connection in
      AccountContents(
        rows: try connection.fetchOne("SELECT count(*) FROM ServerRecord", as: Int.self) ?? 0,
        responses: try connection.fetchOne("SELECT count(*) FROM ServerAnswer", as: Int.self) ?? 0)
    }
  }

  /// Removes the database of the records and the files on the disk. Connections of a running server close within a minute.
  public func removeData(of account: AccountName) throws {
    let lock = try folder.lockForRemoving()
    defer { withExtendedLifetime(lock) {} }
    let place = folder.accountPath(account)
    guard Files.exists(place) else { return }
    // Another database may name objects that still have to be removed from an object store.
    let kept = folder.databases.map(\.fileName).filter { $0 != AccountDatabase.records.fileName }
    for name in try Files.names(in: place) where !kept.contains(where: { name.hasPrefix($0) }) {
      try Files.removeTree("\(place)/\(name)")
    }
    try Files.syncFolder(place)
  }

  /// Ends the deletion of an account.
  public func finishDeletion(of account: AccountName) throws {
    let lock = try folder.lockForRemoving()
    defer { withExtendedLifetime(lock) {} }
    let place = folder.accountPath(account)
    if Files.exists(place) {
      try Files.removeTree(place)
      try Files.syncFolder(Files.parent(of: place))
    }
    try database.write { connection in
      let count = try connection.execute(
        "DELETE FROM Account WHERE folder = \(account.folder) AND deletedAt IS NOT NULL")
      if count > 0 { try note(.removed(account), connection) }
    }
    try emptyLog()
  }

  /// Empties the write-ahead log, which has pages from before the deletion. SQLCipher overwrites removed rows in the database
  /// (`secure_delete`). If another process uses the log just then, the old pages leave it with its next checkpoint.
  private func emptyLog() throws { _ = try database.withWriter { try $0.checkpoint() } }
}

extension ServerFolder {
  fileprivate func accountPath(_ account: AccountName) -> String { "\(path)/accounts/\(account.folder)" }

  /// Lets one process at a time remove the data of accounts.
  fileprivate func lockForRemoving() throws(ServerError) -> FolderLock { try FolderLock.waiting(path + "/removing") }
}
