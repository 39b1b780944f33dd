/// `GET /v1/health`.
public struct ServerHealth: Equatable, Sendable {
  /// What ``service`` is for a server that speaks this format.
  public static let serviceName = "fieldvault"

  /// Who answers. Anybody but ``serviceName`` is not the server.
  public var service: String
  /// The version of the wire format; 1.
  public var version: Int64
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64

  /// An answer of this service; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(service: String = Self.serviceName, version: Int64 = 1, serverTime: Int64) {
    self.service = service
    self.version = version
    self.serverTime = serverTime
  }
}

extension ServerHealth: WireMessage {
  /// Reads the answer.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      service: try reader.text("service"), version: try reader.natural("protocol"),
      serverTime: try reader.time("serverTime"))
  }

  /// The answer as it is written.
  public var wire: SyncValue {
    ["protocol": .integer(version), "serverTime": .time(serverTime), "service": .text(service)]
  }
}

/// `GET /v1/account`: to whom the token belongs.
public struct AccountInfo: Equatable, Sendable {
  /// A schema of the server, and how far it is.
  public struct Schema: Equatable, Sendable {
    /// The schema's name.
    public var name: String
    /// The number of its newest file.
    public var version: Int64

    /// A schema at a version.
    public init(name: String, version: Int64) {
      self.name = name
      self.version = version
    }
  }

  /// Stays the same for the life of the server's data.
  public var serverUuid: String
  /// The account, whose records the token reaches.
  public var account: String
  /// The user.
  public var user: String
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// What the server can store.
  public var schemas: [Schema]

  /// An account; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverUuid: String, account: String, user: String, serverTime: Int64, schemas: [Schema]) {
    self.serverUuid = serverUuid
    self.account = account
    self.user = user
    self.serverTime = serverTime
    self.schemas = schemas
  }
}

extension AccountInfo: WireMessage {
  /// Reads the answer; `service` has to be this one.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    guard try reader.text("service") == ServerHealth.serviceName else {
      throw reader.wrong("service", "\"\(ServerHealth.serviceName)\" is needed")
    }
    self.init(
      serverUuid: try reader.text("serverUuid"), account: try reader.text("account"), user: try reader.text("user"),
      serverTime: try reader.time("serverTime"), schemas: try reader.messages("schemas"))
  }

  /// The answer as it is written.
  public var wire: SyncValue {
    [
      "account": .text(account), "schemas": .array(schemas.map(\.wire)), "serverTime": .time(serverTime),
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

  /// The schema as it is written.
  public var wire: SyncValue { ["name": .text(name), "version": .integer(version)] }
}

/// `GET /v1/watch`.
public struct WatchAnswer: Equatable, Sendable {
  /// Whether there is a change after the cursor.
  public var changed: Bool

  /// An answer.
  public init(changed: Bool) { self.changed = changed }
}

extension WatchAnswer: WireMessage {
  /// Reads the answer.
  public init(wire: SyncValue) throws(SyncModelError) {
    self.init(changed: try WireReader(wire).bool("changed"))
  }

  /// The answer as it is written.
  public var wire: SyncValue { ["changed": .bool(changed)] }
}
