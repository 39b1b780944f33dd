/// The access of operators to the pages of a server, and the rows on these pages.
///
/// The cost of a page depends on the rows of the page, not on the size of the directory. Numbers are counted up to a limit.
public protocol OperatorDirectory: Sendable {
  /// Adds a link that opens the pages in one browser, and stores that in the audit log. The link can be opened for
  /// ``OperatorSession/linkLifetime``, at any node. Only a hash of its key is stored.
  /// - Returns: the key of the link.
  func addOperatorLink() throws -> String
  /// Exchanges the key of a link for a session, once.
  /// - Returns: the secret of the session, which is stored as a hash only; `nil` if the link is unknown, was opened before or has expired.
  func openOperatorSession(link key: String) throws -> String?
  /// Returns whether a session is valid, and extends it. It ends after ``OperatorSession/idleTime`` without a request, and in any case
  /// after ``OperatorSession/lifetime``.
  func useOperatorSession(_ secret: String) throws -> Bool

  /// Returns the number of rows, counted up to a limit.
  func count(of rows: DirectoryRows, atMost limit: Int) throws -> Int
  /// Returns some accounts by name. Their users are counted up to ``OperatorSession/countLimit`` and one more.
  /// - Parameter name: the name of the last account of the page before; `nil` for the first page.
  func accounts(after name: String?, atMost limit: Int) throws -> [ListedAccount]
  /// Returns an account, with its users as in ``accounts(after:atMost:)``; `nil` if it is unknown or its deletion has begun.
  func account(_ name: String) throws -> ListedAccount?
  /// Returns some users of an account in the order in which they were added.
  /// - Parameter id: the number of the last user of the page before; `nil` for the first page.
  func users(of account: AccountName, after id: Int64?, atMost limit: Int) throws -> [AccountUser]
  /// Returns a user; `nil` if the user is unknown or the deletion of its account has begun.
  func user(_ name: String) throws -> AccountUser?
  /// Returns some tokens of a user, newest first.
  /// - Parameter id: the number of the last token of the page before; `nil` for the first page.
  func tokens(of user: AccountUser, before id: Int64?, atMost limit: Int) throws -> [ListedToken]
  /// Returns some devices of an account by id.
  /// - Parameter id: the id of the last device of the page before; `nil` for the first page.
  func devices(of account: AccountName, after id: String?, atMost limit: Int) throws -> [ListedDevice]
  /// Returns some entries of the audit log, newest first.
  /// - Parameter number: the number of the last entry of the page before; `nil` for the first page.
  func auditLog(before number: Int64?, atMost limit: Int) throws -> [AuditEntry]
}

/// The limits of the access to the pages for operators.
public enum OperatorSession {
  /// The time in which a link can be opened, in milliseconds.
  public static let linkLifetime: Int64 = 10 * 60_000
  /// The time without a request after which a session ends, in milliseconds.
  public static let idleTime: Int64 = 15 * 60_000
  /// The greatest age of a session, in milliseconds.
  public static let lifetime: Int64 = 12 * 3_600_000
  /// The time of the last request is stored if it is this much later than the stored one, in milliseconds, so that few requests write.
  package static let storedEvery: Int64 = 60_000
  /// The greatest number that a page counts.
  public static let countLimit = 10_000
}

/// The rows of a directory that are counted.
public enum DirectoryRows: Sendable, CaseIterable {
  /// Accounts, with those whose deletion has begun.
  case accounts
  case users
  case devices
}

/// A user on a page for operators.
public struct AccountUser: Sendable, Equatable {
  /// The number of the user.
  public let id: Int64
  /// The name, unique on the server.
  public let name: String
  /// The account of the user.
  public let account: AccountName
  /// The creation time, ISO 8601.
  public let createdAt: String
  /// The UUID of the record of the user; `nil` without one.
  public let record: String?
  /// Whether all tokens of the user are revoked.
  public let isRevoked: Bool

  package init(id: Int64, name: String, account: AccountName, createdAt: String, record: String?, isRevoked: Bool) {
    (self.id, self.name, self.account, self.createdAt) = (id, name, account, createdAt)
    (self.record, self.isRevoked) = (record, isRevoked)
  }
}
