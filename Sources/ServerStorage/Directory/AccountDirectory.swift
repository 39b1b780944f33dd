import CipherSQL
import SchemaModel
import SyncModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The accounts, users and tokens of a server, and the schemas that it serves.
///
/// Several processes may use a directory at once. Its functions may block.
public protocol AccountDirectory: OperatorDirectory {
  /// The UUID of the server, which stays the same for the life of the data.
  var serverUuid: String { get }
  /// Returns all accounts.
  func accounts() throws -> [AccountName]

  /// Returns the holder of a token; `nil` for an unknown, revoked or expired token.
  func member(token: String) throws -> Member?
  /// Returns the holder of a verified token of an identity provider. The first one of a user adds the user to the account.
  /// - Throws: ``ServerError`` with `signInRefused` if the account is missing, or the user was revoked or belongs to another
  ///   account; with `badName`.
  func member(_ identity: Identity) throws -> Member
  /// Returns whether the token that a member showed is still valid. A long request checks repeatedly, so that a
  /// revocation or an expiry ends it.
  func isValid(_ member: Member) throws -> Bool

  /// Adds a user with a first token, or gives a user without a valid token a new one.
  /// - Parameters:
  ///   - account: created if missing; `nil` for the user's existing account, otherwise
  ///     ``AccountDirectory/defaultAccount``.
  ///   - expires: the expiry time; `nil` if the token does not expire.
  ///   - record: the UUID of the record of the user; `nil` keeps that of an existing user.
  /// - Returns: the account, and the token, which is never stored.
  /// - Throws: ``ServerError`` with `userExists` while the user has a valid token or belongs to another account, with
  ///   `badName`, with `badExpiry`.
  func addUser(
    _ name: String, account: String?, role: TokenRole, expires: Date?, record: String?
  ) throws -> (account: String, token: String)
  /// Connects a user with a record, by which membership records name the user.
  /// - Parameter record: the UUID of the record; `nil` for none.
  /// - Throws: ``ServerError`` with `noSuchUser`.
  func linkUser(_ name: String, to record: String?) throws
  /// Sets whether an account limits devices to the projects of which their users are members.
  /// - Returns: the names of the users without a record, whom no membership record can name.
  /// - Throws: ``ServerError`` with `noSuchAccount`.
  func setMembership(_ isLimited: Bool, of account: String) throws -> [String]
  /// Returns all users, by name.
  func users() throws -> [ListedUser]
  /// Returns all accounts with their users, by name.
  func listedAccounts() throws -> [ListedAccount]
  /// Revokes the tokens of a user at once.
  /// - Returns: the number of tokens that were valid.
  /// - Throws: ``ServerError`` with `noSuchUser`.
  func revokeUser(_ name: String) throws -> Int
  /// Adds a token for a user.
  /// - Parameters:
  ///   - label: the device or program that uses the token.
  ///   - expires: the expiry time; `nil` if the token does not expire.
  /// - Returns: the number of the token, and the token, which is never stored.
  /// - Throws: ``ServerError`` with `noSuchUser`, `badName` or `badExpiry`.
  func addToken(
    to user: String, role: TokenRole, label: String?, expires: Date?
  ) throws -> (id: Int64, token: String)
  /// Returns the tokens of a user, or of all users, oldest first, including revoked and expired ones.
  /// - Throws: ``ServerError`` with `noSuchUser`.
  func tokens(of user: String?) throws -> [ListedToken]
  /// Revokes a token at once.
  /// - Returns: `false` if the token was already revoked.
  /// - Throws: ``ServerError`` with `noSuchToken`.
  func revokeToken(_ id: Int64) throws -> Bool

  /// Adds schemas to the served ones, and returns all. Without any named schema, all schemas of the program are
  /// served.
  ///
  /// The directory keeps the files of every schema that comes from a folder. A server that was moved or restored on
  /// another machine therefore serves without the folder, and continues with a folder at another place that has the
  /// same statements.
  /// - Parameter shipped: the schemas of the program.
  /// - Throws: ``ServerError`` with `schemas` if one is missing, or if another source has other statements.
  func schemas(adding new: [(source: SchemaSource, schema: Schema)], shipped: [Schema]) throws -> [Schema]

  /// Stores when tokens were last used. A stored time never steps back.
  /// - Parameter times: by the number of the token, in milliseconds since 1970-01-01 UTC.
  func noteUse(of times: [Int64: Int64]) throws

  /// Stores the last requests of devices.
  func note(_ contacts: [DeviceContact.Key: DeviceContact]) throws
  /// Returns the devices of an account, or of all accounts, by account and last request.
  /// - Throws: ``ServerError`` with `noSuchAccount`.
  func devices(of account: String?) throws -> [ListedDevice]
  /// Revokes a device in all accounts that know it. It is refused from its next request on.
  /// - Returns: `false` if it was already revoked.
  /// - Throws: ``ServerError`` with `noSuchDevice`.
  func revokeDevice(_ id: String) throws -> Bool
  /// Returns the number of the last change of an account.
  func lastSequence(of account: AccountName) throws -> Int64

  /// Adds an event to the audit log. The functions of this protocol that change accounts, users and tokens add theirs themselves, in
  /// the transaction of the change.
  /// - Parameter member: the acting user of the server; `nil` for the system's user that runs this process.
  func note(_ event: AuditEvent, by member: Member?) throws
  /// Returns the newest entries of the audit log, oldest first.
  /// - Parameter since: the earliest time, in milliseconds since 1970-01-01 UTC; `nil` for any.
  func auditLog(since: Int64?, atMost limit: Int) throws -> [AuditEntry]
  /// Returns the time of the last event of a kind, in milliseconds since 1970-01-01 UTC; `nil` without one.
  func lastTime(of action: AuditEvent.Action) throws -> Int64?

  /// Returns the stored time of retention; `nil` before its start.
  func retentionTime() throws -> Int64?
  /// Stores the time of retention, which never steps back.
  func storeRetentionTime(_ time: Int64) throws

  /// Returns whether this process removes old data until a time. One process at a time does, so that several do not repeat each
  /// other's work.
  /// - Parameters:
  ///   - now: the wall time, in milliseconds since 1970-01-01 UTC.
  ///   - end: the time until which no other process does.
  func ownsRetention(at now: Int64, until end: Int64) throws -> Bool

  /// Begins the deletion of an account, or finds that it has begun. From then on no token of the account is valid, and the account has
  /// no users. The audit log no longer names them, nor the labels of their tokens.
  /// - Parameter member: the acting user; `nil` for the operator.
  /// - Throws: ``ServerError`` with `noSuchAccount`; with `otherUsers` if the acting user is neither the only user of the account nor
  ///   has the role admin. Nothing is changed in these cases.
  func beginDeletion(of account: String, by member: Member?) throws -> AccountName
  /// Returns the accounts whose deletion has begun and not ended.
  func deletions() throws -> [AccountName]
  /// Returns the number of records, with those whose deletion is not forgotten, and of stored responses of an account.
  func contents(of account: AccountName) throws -> AccountContents
  /// Removes the records of an account that is being deleted, with all that belongs to them, and its files on the disk, in bounded
  /// transactions. Can be repeated, also by several processes at once.
  func removeData(of account: AccountName) throws
  /// Ends the deletion of an account. Its name can be used again.
  func finishDeletion(of account: AccountName) throws

  /// Closes the connection to the data.
  func close()
}

extension AccountDirectory {
  /// Adds a user without a record.
  package func addUser(
    _ name: String, account: String?, role: TokenRole, expires: Date?
  ) throws -> (account: String, token: String) {
    try addUser(name, account: account, role: role, expires: expires, record: nil)
  }

  /// Adds an event to the audit log that the system's user of this process has caused.
  public func note(_ event: AuditEvent) throws { try note(event, by: nil) }

  /// The default account of a user.
  public static var defaultAccount: String { "default" }

  /// Refuses a name of a user, an account or a token that could not be shown.
  package static func check(_ name: String, _ what: String) throws(ServerError) {
    let isPlain = name.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80...0x9F).contains(scalar.value)
    }
    guard isPlain, (1...100).contains(name.count), name.first != " ", name.last != " " else {
      throw ServerError(
        .badName, "the name of a \(what) must have 1 to 100 characters, no control characters and no space at its ends")
    }
  }

  /// Refuses an expiry in the past.
  package static func check(_ expires: Date?, at now: Date) throws(ServerError) {
    guard let expires, expires <= now else { return }
    throw ServerError(.badExpiry, "the expiry time is in the past", hint: "use a later time, or omit it")
  }
}

extension ServerError {
  /// The user belongs to another account than the one that was named.
  package static func otherAccount(_ user: String) -> ServerError {
    ServerError(.userExists, "the user \(user) belongs to another account", hint: "choose another name")
  }

  /// The user has a valid token.
  package static func userExists(_ user: String) -> ServerError {
    ServerError(.userExists, "the user \(user) already exists", remedy: .addToken(user: user))
  }

  /// The user is unknown.
  package static func noSuchUser(_ user: String) -> ServerError {
    ServerError(.noSuchUser, "no user \(user)", remedy: .showUsers)
  }

  /// The account is unknown.
  package static func noSuchAccount(_ name: String) -> ServerError {
    ServerError(.noSuchAccount, "no account \(name)", remedy: .showAccounts)
  }

  /// The device is unknown.
  package static func noSuchDevice(_ id: String) -> ServerError {
    ServerError(.noSuchDevice, "no device \(id)", remedy: .showDevices)
  }

  /// The token is unknown.
  package static func noSuchToken(_ id: Int64) -> ServerError {
    ServerError(.noSuchToken, "no token \(id)", remedy: .showTokens)
  }
}

/// The data of an account for `account list`.
public struct ListedAccount: Sendable, Equatable {
  /// The name, and the name of its folder, by which logs name the account.
  public let account: AccountName
  /// The number of its users.
  public let users: Int
  /// The creation time, ISO 8601.
  public let createdAt: String
  /// Whether devices see only the projects of which their users are members.
  public let limitsToMembers: Bool

  package init(account: AccountName, users: Int, createdAt: String, limitsToMembers: Bool) {
    (self.account, self.users, self.createdAt) = (account, users, createdAt)
    self.limitsToMembers = limitsToMembers
  }
}

/// The data of a user for `user list`.
public struct ListedUser: Sendable, Equatable {
  /// The name, unique on the server.
  public let name: String
  /// The account whose records the user sees.
  public let account: String
  /// The creation time of the user, ISO 8601.
  public let createdAt: String
  /// The time when the last valid token was revoked; `nil` while a token is valid.
  public let revokedAt: String?
  /// The UUID of the record of the user; `nil` without one.
  public let record: String?

  package init(name: String, account: String, createdAt: String, revokedAt: String?, record: String?) {
    (self.name, self.account, self.createdAt, self.revokedAt) = (name, account, createdAt, revokedAt)
    self.record = record
  }
}

/// The data of a token for `token list`. The token is never stored.
public struct ListedToken: Sendable, Equatable {
  /// The id of the token for `token revoke`.
  public let id: Int64
  /// The user of the token.
  public let user: String
  /// The account of the user.
  public let account: String
  /// The role of the holder.
  public let role: TokenRole
  /// The name of the device or program, if it was given.
  public let label: String?
  /// The creation time, ISO 8601.
  public let createdAt: String
  /// The expiry time, ISO 8601; `nil` if the token does not expire.
  public let expiresAt: String?
  /// The time of the revocation, ISO 8601; `nil` for a token that is not revoked.
  public let revokedAt: String?
  /// The time of the last request with the token, ISO 8601, at most a minute late; `nil` for a token that was never used.
  public let lastUsedAt: String?

  package init(
    id: Int64, user: String, account: String, role: TokenRole, label: String?, createdAt: String, expiresAt: String?,
    revokedAt: String?, lastUsedAt: String?
  ) {
    (self.id, self.user, self.account, self.role, self.label) = (id, user, account, role, label)
    (self.createdAt, self.expiresAt, self.revokedAt, self.lastUsedAt) = (createdAt, expiresAt, revokedAt, lastUsedAt)
  }
}
