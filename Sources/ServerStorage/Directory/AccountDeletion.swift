/// The contents of an account that its deletion removes.
public struct AccountContents: Equatable, Sendable {
  /// The number of records, with deleted ones that are not forgotten.
  public var rows: Int
  /// The number of files and of unfinished uploads.
  public var files: Int
  /// The number of stored responses.
  public var responses: Int

  /// Creates the contents of an account, by default an empty one.
  public init(rows: Int = 0, files: Int = 0, responses: Int = 0) {
    (self.rows, self.files, self.responses) = (rows, files, responses)
  }
}

extension ServerError {
  /// The deletion of an account has begun and not ended.
  package static func isBeingDeleted(_ account: String) -> ServerError {
    ServerError(.deleted, "the account \(account) is being deleted", remedy: .finishDeletion(account: account))
  }

  /// The account of a running request was deleted.
  package static let accountIsDeleted = ServerError(.deleted, "the account was deleted")

  /// The acting user may not delete the account.
  package static func otherUsers(_ account: String) -> ServerError {
    ServerError(
      .otherUsers, "the account \(account) has other users", hint: "a token with the role admin can delete it")
  }
}

extension AccountName {
  /// The account in the audit log: its name, which another account may get later, and its id, which stays unique.
  package var auditText: String { "account \(name), id \(folder)" }
}

extension Member {
  /// The beginning of the name of a user in the audit log, which tells users of the server from users of the system.
  package static let auditNamePrefix = "user "
  /// The beginning of the name of a user of a deleted account in the audit log. The number of the user follows.
  package static let auditNumberPrefix = "deleted user "

  /// The user in the audit log.
  package var auditName: String { Self.auditName(name) }
  /// A user in the audit log.
  package static func auditName(_ name: String) -> String { auditNamePrefix + name }
  /// The user in the audit log after the deletion of the account.
  package var auditNumber: String { Self.auditNumberPrefix + String(userId) }

  /// Whether the user may delete an account with a number of users.
  package func mayDeleteAccount(users: Int) -> Bool { role == .admin || users == 1 }
}
