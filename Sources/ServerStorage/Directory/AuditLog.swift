import SyncModel

/// A change in the administration of a server.
public struct AuditEvent: Sendable, Equatable {
  /// The kind of change.
  public enum Action: String, Sendable, CaseIterable {
    case userAdded = "user added"
    case userRevoked = "user revoked"
    case tokenAdded = "token added"
    case tokenRevoked = "token revoked"
    case deviceRevoked = "device revoked"
    case userLinked = "user linked"
    case membershipChanged = "membership changed"
    case accountExported = "account exported"
    case accountDeleted = "account deleted"
    case accountRemoved = "account removed"
    case epochStarted = "epoch started"
    case sealKeysRotated = "seal keys rotated"
    case keyRotated = "key rotated"
    case backedUp = "backed up"
    case restored = "restored"
    case operatorLinkAdded = "operator link added"
  }

  /// The kind of change.
  public let action: Action
  /// The user whose rights changed; `nil` for an action on all data.
  public let user: String?
  /// The rest of the action as text, such as `token 3, role device`. It contains no token and no key.
  public let details: String

  private init(_ action: Action, user: String? = nil, _ details: [String?]) {
    (self.action, self.user) = (action, user)
    self.details = details.compactMap { $0 }.joined(separator: ", ")
  }

  /// A user was added, or got a token again.
  package static func added(
    user: String, to account: String, _ role: TokenRole, expires: String?, record: String?
  ) -> AuditEvent {
    AuditEvent(
      .userAdded, user: user,
      [
        "account \(account)", "role \(role.rawValue)", expires.map { "expires \($0)" }, record.map { "record \($0)" },
      ])
  }

  /// A user was connected with a record, or no longer is.
  package static func linked(user: String, to record: String?) -> AuditEvent {
    AuditEvent(.userLinked, user: user, [record.map { "record \($0)" } ?? "no record"])
  }

  /// The account limits devices to the projects of their users, or no longer does.
  package static func changedMembership(of account: String, isLimited: Bool) -> AuditEvent {
    AuditEvent(.membershipChanged, ["account \(account)", isLimited ? "on" : "off"])
  }

  /// An export of the records and files of an account began.
  package static func exported(_ account: AccountName) -> AuditEvent {
    AuditEvent(.accountExported, [account.auditText])
  }

  /// The users of an account lost their access, and the removal of its data began.
  package static func deleted(_ account: AccountName) -> AuditEvent { AuditEvent(.accountDeleted, [account.auditText]) }

  /// All data of a deleted account are removed.
  package static func removed(_ account: AccountName) -> AuditEvent { AuditEvent(.accountRemoved, [account.auditText]) }

  /// A user was added at its first request with a token of an identity provider.
  static func added(user: String, to account: String, _ role: TokenRole, issuer: String) -> AuditEvent {
    AuditEvent(
      .userAdded, user: user, ["account \(account)", "role \(role.rawValue)", "identity provider \(issuer)"])
  }

  /// The tokens of a user were revoked.
  package static func revoked(user: String, tokens: Int) -> AuditEvent {
    AuditEvent(.userRevoked, user: user, ["tokens: \(tokens)"])
  }

  /// A token was added.
  package static func added(
    token id: Int64, of user: String, _ role: TokenRole, label: String?, expires: String?
  ) -> AuditEvent {
    AuditEvent(
      .tokenAdded, user: user,
      ["token \(id)", "role \(role.rawValue)", label.map { "label \($0)" }, expires.map { "expires \($0)" }])
  }

  /// A known user signed in at an identity provider for the first time, or again after a revocation.
  static func added(token id: Int64, of user: String, _ role: TokenRole, issuer: String) -> AuditEvent {
    AuditEvent(.tokenAdded, user: user, ["token \(id)", "role \(role.rawValue)", "identity provider \(issuer)"])
  }

  /// A token was revoked.
  package static func revoked(token id: Int64, of user: String) -> AuditEvent {
    AuditEvent(.tokenRevoked, user: user, ["token \(id)"])
  }

  /// A device was revoked.
  /// - Parameter user: the user of its last request; `nil` if the token is removed.
  package static func revoked(device id: String, of user: String?) -> AuditEvent {
    AuditEvent(.deviceRevoked, user: user, ["device \(id)"])
  }

  /// The accounts began a new epoch.
  package static func startedEpoch(accounts: Int) -> AuditEvent { AuditEvent(.epochStarted, ["accounts: \(accounts)"]) }

  /// The keys of sealed values were rotated.
  public static func rotatedSealKeys(accounts: Int, withAccountKeys: Bool) -> AuditEvent {
    AuditEvent(.sealKeysRotated, ["accounts: \(accounts)", withAccountKeys ? "with keys of accounts" : nil])
  }

  /// All databases of a folder were encrypted under a new key.
  package static func rotatedKey(databases: Int) -> AuditEvent {
    AuditEvent(.keyRotated, ["databases: \(databases)"])
  }

  /// A backup was made.
  package static func backedUp(accounts: Int, files: Int, bytes: Int64) -> AuditEvent {
    AuditEvent(.backedUp, ["accounts: \(accounts)", "files: \(files)", "bytes: \(bytes)"])
  }

  /// A link to the pages for operators was made.
  package static func addedOperatorLink() -> AuditEvent { AuditEvent(.operatorLinkAdded, []) }

  /// The data were restored from a backup.
  package static func restored(accounts: Int, files: Int) -> AuditEvent {
    AuditEvent(.restored, ["accounts: \(accounts)", "files: \(files)"])
  }
}

/// An event of the audit log.
public struct AuditEntry: Sendable, Equatable {
  /// The number; later entries have greater ones.
  public let number: Int64
  /// The server's time, in milliseconds since 1970-01-01 UTC.
  public let time: Int64
  /// The acting user: the system's user that ran the command, or `user NAME` for a request of a user of the server. A user of a deleted
  /// account is `deleted user NUMBER`.
  public let actor: String
  /// The word of the action, which a newer program may have written.
  public let action: String
  /// The user whose rights changed; `nil` for an action on all data.
  public let user: String?
  /// The rest of the action.
  public let details: String

  package init(number: Int64, time: Int64, actor: String, action: String, user: String?, details: String) {
    (self.number, self.time, self.actor, self.action, self.user, self.details) = (
      number, time, actor, action, user, details
    )
  }
}
