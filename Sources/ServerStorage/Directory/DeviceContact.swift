import SyncModel

/// The last requests of a device, as they are stored for the operator.
public struct DeviceContact: Equatable, Sendable {
  /// A device of an account.
  public struct Key: Hashable, Sendable {
    /// The account.
    public let account: AccountName
    /// The id that the device has drawn.
    public let deviceId: String

    /// Creates a key from its parts.
    public init(_ account: AccountName, _ deviceId: String) { (self.account, self.deviceId) = (account, deviceId) }
  }

  /// The number of the token of the last request.
  public var tokenId: Int64
  /// The time of the last request, in milliseconds since 1970-01-01 UTC.
  public var time: Int64
  /// The version of the program of the device; `nil` if it does not say so.
  public var version: String?
  /// The number of the last change that the device has read; `nil` if these requests do not tell.
  public var position: Int64?
  /// Whether the device was told that it is revoked.
  public var isRefused: Bool

  /// Creates a contact.
  public init(tokenId: Int64, time: Int64, version: String? = nil, position: Int64? = nil, isRefused: Bool = false) {
    (self.tokenId, self.time, self.version) = (tokenId, time, version)
    (self.position, self.isRefused) = (position, isRefused)
  }

  /// Adds a later contact of the device.
  public mutating func add(_ later: DeviceContact) {
    (tokenId, time) = (later.tokenId, max(time, later.time))
    version = later.version ?? version
    position = later.position ?? position
    isRefused = isRefused || later.isRefused
  }

  /// The number of devices of an account that are stored. The devices that were not seen for the longest time are forgotten, except
  /// revoked ones.
  package static let most = 10_000
}

/// The data of a device for `device list`.
public struct ListedDevice: Sendable, Equatable {
  /// The id of the device for `device revoke`.
  public let id: String
  /// The account.
  public let account: AccountName
  /// The user of its last request; `nil` if the token is removed.
  public let user: String?
  /// The number of the token of its last request.
  public let tokenId: Int64
  /// The version of its program; `nil` if it does not say so.
  public let version: String?
  /// The times of its first and last request, in milliseconds since 1970-01-01 UTC, at most a minute late.
  public let firstSeenAt, lastSeenAt: Int64
  /// The number of the last change that it has read; `nil` before it has read any.
  public let position: Int64?
  /// When it was revoked, and when it was told; `nil` if that has not happened.
  public let revokedAt, toldAt: Int64?

  package init(
    id: String, account: AccountName, user: String?, tokenId: Int64, version: String?, firstSeenAt: Int64,
    lastSeenAt: Int64, position: Int64?, revokedAt: Int64?, toldAt: Int64?
  ) {
    (self.id, self.account, self.user, self.tokenId, self.version) = (id, account, user, tokenId, version)
    (self.firstSeenAt, self.lastSeenAt, self.position) = (firstSeenAt, lastSeenAt, position)
    (self.revokedAt, self.toldAt) = (revokedAt, toldAt)
  }

  /// Returns the number of changes of the account that the device has not read; `nil` before it has read any. Changes of projects
  /// that it does not follow count as well.
  /// - Parameter lastSequence: the number of the last change of the account.
  public func lag(behind lastSequence: Int64) -> Int64? { position.map { max(0, lastSequence - $0) } }
}
