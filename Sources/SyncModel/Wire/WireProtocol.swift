/// The version of the wire format that `WireFormat.md` specifies.
public enum WireProtocol {
  /// The version that this program speaks.
  public static let version: Int64 = 2
  /// The versions of devices that a server accepts.
  public static let accepted: ClosedRange<Int64> = 2...2
  /// The request header in which a device sends its version.
  public static let header = "FieldVault-Protocol"

  /// Whether a server accepts a request, judged by the value of its version header.
  public static func accepts(_ header: String?) -> Bool {
    header.flatMap { Int64($0) }.map(accepted.contains) ?? false
  }
}

/// The rights of a token.
public enum TokenRole: String, CaseIterable, Sendable {
  /// A device of a user.
  case device
  /// A program beside the server that fills server-owned fields.
  case service
  /// An administrator. The role neither pushes nor pulls.
  case admin
}

/// The name of a record on the wire.
public struct RecordReference: Hashable, Sendable {
  /// The entity type, such as `Room`.
  public var entityType: String
  /// The record's UUID, in lower case.
  public var entityUuid: String

  /// The name of a record.
  public init(entityType: String, entityUuid: String) {
    (self.entityType, self.entityUuid) = (entityType, entityUuid)
  }
}

extension RecordReference: WireMessage {
  /// Reads a name.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(entityType: try reader.text("entityType"), entityUuid: try reader.text("entityUuid"))
  }

  /// The name as JSON.
  public var wire: SyncValue { ["entityType": .text(entityType), "entityUuid": .text(entityUuid)] }
}

/// The times of a record as the server stores them, in milliseconds since 1970-01-01 UTC.
public struct RecordTimes: Equatable, Sendable {
  /// When a user created the record.
  public var createdAt: Int64
  /// When a user last changed the record.
  public var updatedAt: Int64
  /// The times of the fields that were changed at another time than `updatedAt`.
  public var editTimes: [String: Int64]

  /// The times of a record.
  public init(createdAt: Int64, updatedAt: Int64, editTimes: [String: Int64] = [:]) {
    (self.createdAt, self.updatedAt, self.editTimes) = (createdAt, updatedAt, editTimes)
  }
}
