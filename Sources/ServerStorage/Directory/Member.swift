import SyncModel

/// The holder of a token.
public struct Member: Hashable, Sendable {
  /// The id of the token, for commands and for validity checks.
  public let tokenId: Int64
  /// The role of the holder.
  public let role: TokenRole
  /// The number of the user.
  public let userId: Int64
  /// The name of the user.
  public let name: String
  /// The account whose records the user sees.
  public let account: AccountName
  /// The user as the records name it. The account limits devices to the projects of the user if its operator has turned that on.
  public let viewer: Viewer
  /// The revoked devices of the account.
  public let revokedDevices: Set<String>
  /// The time at which the token of an identity provider expires, in milliseconds since 1970-01-01 UTC; `nil` for a token of this
  /// server, whose expiry is in the directory.
  public internal(set) var expiresAt: Int64?

  /// Creates a holder from its parts.
  /// - Parameters:
  ///   - record: the UUID of the record of the user; `nil` without one.
  ///   - limitsToMembers: whether the account limits devices to the projects of their users.
  ///   - revokedDevices: the ids of the revoked devices of the account.
  package init(
    tokenId: Int64, role: TokenRole, userId: Int64, name: String, account: AccountName, record: String? = nil,
    limitsToMembers: Bool = false, revokedDevices: Set<String> = []
  ) {
    (self.tokenId, self.role, self.userId, self.name, self.account) = (tokenId, role, userId, name, account)
    self.revokedDevices = revokedDevices
    viewer = Viewer(userId: userId, record: record, isLimited: limitsToMembers && role == .device)
  }
}

/// An account: its name and the name of its folder.
public struct AccountName: Hashable, Sendable {
  /// The name.
  public let name: String
  /// The folder of its records, with a random name.
  public let folder: String

  /// Creates an account.
  public init(name: String, folder: String) { (self.name, self.folder) = (name, folder) }
}
