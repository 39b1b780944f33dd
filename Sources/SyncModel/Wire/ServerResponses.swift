/// The response to `GET /v1/health`.
public struct ServerHealth: Equatable, Sendable {
  /// The value of ``service`` for a server of this format.
  public static let serviceName = "fieldvault"

  /// The name of the service. Any name except ``serviceName`` is another service.
  public var service: String
  /// The newest version of the wire format that the server speaks.
  public var version: Int64
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64

  /// Creates a response of this service; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(service: String = Self.serviceName, version: Int64 = WireProtocol.version, serverTime: Int64) {
    self.service = service
    self.version = version
    self.serverTime = serverTime
  }
}

extension ServerHealth: WireMessage {
  /// Parses the response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      service: try reader.text("service"), version: try reader.natural("protocol"),
      serverTime: try reader.time("serverTime"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    ["protocol": .integer(version), "serverTime": .time(serverTime), "service": .text(service)]
  }
}

/// The response to `GET /v1/account`: the user of the token.
public struct AccountInfo: Equatable, Sendable {
  /// A schema of the server, and its version.
  public struct Schema: Equatable, Sendable {
    /// The schema's name.
    public var name: String
    /// The number of the newest schema file.
    public var version: Int64

    /// Creates a schema at a version.
    public init(name: String, version: Int64) {
      self.name = name
      self.version = version
    }
  }

  /// The version of the wire format in which the server responds; 1 if the response lacks it.
  public var protocolVersion: Int64
  /// The UUID of the server, which stays the same for the life of its data.
  public var serverUuid: String
  /// The history of the account's data.
  public var epoch: String
  /// The account whose records the token can access.
  public var account: String
  /// The user.
  public var user: String
  /// The rights of the token.
  public var role: TokenRole
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The schemas that the server can store.
  public var schemas: [Schema]

  /// Creates a response; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(
    protocolVersion: Int64 = WireProtocol.version, serverUuid: String, epoch: String, account: String, user: String,
    role: TokenRole = .device, serverTime: Int64, schemas: [Schema]
  ) {
    self.protocolVersion = protocolVersion
    self.epoch = epoch
    self.role = role
    self.serverUuid = serverUuid
    self.account = account
    self.user = user
    self.serverTime = serverTime
    self.schemas = schemas
  }
}

extension AccountInfo: WireMessage {
  /// Parses the response; `service` must be ``ServerHealth/serviceName``.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    guard try reader.text("service") == ServerHealth.serviceName else {
      throw reader.wrong("service", "expected \"\(ServerHealth.serviceName)\"")
    }
    let version = try reader.optional("protocol", reader.natural) ?? 1
    // A server of another version may say less; the device only has to learn that it is another one.
    let isOther = version != WireProtocol.version
    self.init(
      protocolVersion: version, serverUuid: try reader.text("serverUuid"),
      epoch: isOther ? try reader.optional("epoch", reader.text) ?? "" : try reader.text("epoch"),
      account: try reader.text("account"), user: try reader.text("user"),
      role: isOther ? .device : try reader.word("role"), serverTime: try reader.time("serverTime"),
      schemas: try reader.messages("schemas"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    [
      "account": .text(account), "epoch": .text(epoch), "protocol": .integer(protocolVersion),
      "role": .text(role.rawValue), "schemas": .array(schemas.map(\.wire)), "serverTime": .time(serverTime),
      "serverUuid": .text(serverUuid), "service": .text(ServerHealth.serviceName), "user": .text(user),
    ]
  }
}

extension AccountInfo.Schema: WireMessage {
  /// Reads a schema.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(name: try reader.text("name"), version: try reader.natural("version"))
  }

  /// The schema in the wire format.
  public var wire: SyncValue { ["name": .text(name), "version": .integer(version)] }
}

/// The response to `GET /v1/watch`.
public struct WatchResponse: Equatable, Sendable {
  /// Whether a change of the projects follows the cursor.
  public var changed: Bool
  /// The cursor from which the next request goes on: behind changes of other projects. `nil` for the cursor of the request.
  public var cursor: String?

  /// Creates a response.
  public init(changed: Bool, cursor: String? = nil) { (self.changed, self.cursor) = (changed, cursor) }
}

extension WatchResponse: WireMessage {
  /// Parses the response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(changed: try reader.bool("changed"), cursor: try reader.optional("cursor", reader.text))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    .object(SyncObject(present: ["changed": .bool(changed), "cursor": cursor.map(SyncValue.text)]))
  }
}
