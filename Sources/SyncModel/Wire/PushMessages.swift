/// The request `POST /v1/push`: operations that the server executes in order, each atomically.
public struct PushRequest: Equatable, Sendable {
  /// The greatest number of operations in a request.
  public static let greatestCount = 25

  /// The id of the device, a UUID.
  public var deviceId: String
  /// The counter of the device's pushes. It increases with every push, so that the server detects two copies of a
  /// vault.
  public var deviceCounter: Int64
  /// The cursor of the device; `nil` before the first pull.
  public var cursor: String?
  /// The operations, at most ``greatestCount``. Parsing does not count them, because the server returns its own
  /// problem.
  public var operations: [PushOperation]

  /// Creates a request of at most ``greatestCount`` operations.
  public init(deviceId: String, deviceCounter: Int64, cursor: String?, operations: [PushOperation]) {
    self.deviceId = deviceId
    self.deviceCounter = deviceCounter
    self.cursor = cursor
    self.operations = operations
  }
}

extension PushRequest: WireMessage {
  /// Reads a request. An error names the operation by its place, such as `operations[3].updatedAt`.
  public init(wire: SyncValue) throws(SyncModelError) {
    let envelope = try PushEnvelope(wire: wire)
    self.init(
      deviceId: envelope.deviceId, deviceCounter: envelope.deviceCounter, cursor: envelope.cursor,
      operations: try WireReader(wire).messages("operations"))
  }

  /// The request in the wire format.
  public var wire: SyncValue {
    PushEnvelope(
      deviceId: deviceId, deviceCounter: deviceCounter, cursor: cursor, operations: operations.map(\.wire)
    ).wire
  }
}

/// A ``PushRequest`` whose operations are not parsed, so that an invalid operation fails alone.
package struct PushEnvelope: Equatable, Sendable {
  /// The id of the device.
  package var deviceId: String
  /// The number of this push of the device.
  package var deviceCounter: Int64
  /// The cursor of the device; `nil` before the first pull.
  package var cursor: String?
  /// The operations as JSON.
  package var operations: [SyncValue]

  init(deviceId: String, deviceCounter: Int64, cursor: String?, operations: [SyncValue]) {
    self.deviceId = deviceId
    self.deviceCounter = deviceCounter
    self.cursor = cursor
    self.operations = operations
  }
}

extension PushEnvelope: WireMessage {
  /// Parses the request without its operations.
  package init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      deviceId: try reader.text("deviceId"), deviceCounter: try reader.natural("deviceCounter"),
      cursor: try reader.optional("cursor", reader.text), operations: try reader.array("operations"))
  }

  /// The request in the wire format.
  package var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": cursor.map(SyncValue.text), "deviceCounter": .integer(deviceCounter), "deviceId": .text(deviceId),
        "operations": .array(operations),
      ]))
  }
}

/// One operation of a push.
public struct PushOperation: Equatable, Sendable {
  /// The id of the operation on the device.
  public var operationId: String
  /// The key of this payload. The server executes a key once. `nil` until the operation is sealed.
  public var idempotencyKey: String?
  /// The kind: the record is created, changed or deleted.
  public var kind: OperationKind
  /// The entity, such as `Room`.
  public var entityType: String
  /// The lowercase UUID of the record.
  public var entityUuid: String
  /// The version of the record that the change is based on; 0 for a new record.
  public var baseVersion: Int64
  /// The epoch that `baseVersion` belongs to; `nil` if the device has no epoch. The server does not trust the base in
  /// this case.
  public var baseEpoch: String?
  /// The number of the newest file of the entity's schema that the device has applied.
  public var schemaVersion: Int64
  /// The time when the record was created, in milliseconds since 1970-01-01 UTC by the server's clock; `nil` for
  /// operations without it.
  public var createdAt: Int64?
  /// The id on the server that a created record had before the server lost it; `nil` for other operations.
  public var serverId: Int64?
  /// The changes. Their times are corrected to the server's clock. A deletion has `isDeleted` set.
  public var patch: RecordPatch
  /// The values that the changed fields had at `baseVersion`.
  public var base: SyncObject
  /// The digest of the content with which the operation was sealed; `nil` unless a schema file has renamed its fields
  /// since.
  public var sealedDigest: String?
  /// Whether the operation may have been sent before. Not part of the wire format, because a FieldVault server
  /// recognises the key.
  public var isRepeated = false
  /// The fields of an earlier payload that the remote may have stored, and that edits have replaced; `nil` if there is
  /// none. Not part of the wire format.
  package var earlierFields: SyncObject?
  /// Whether all requests with the operation had this payload. Not part of the wire format.
  package var hasOnePayload = false

  /// Creates an operation; `createdAt` is in milliseconds since 1970-01-01 UTC.
  public init(
    operationId: String, idempotencyKey: String? = nil, kind: OperationKind, entityType: String, entityUuid: String,
    baseVersion: Int64, baseEpoch: String? = nil, schemaVersion: Int64, createdAt: Int64? = nil, patch: RecordPatch,
    base: SyncObject = [:], sealedDigest: String? = nil, serverId: Int64? = nil
  ) {
    self.operationId = operationId
    self.idempotencyKey = idempotencyKey
    self.baseEpoch = baseEpoch
    self.kind = kind
    self.entityType = entityType
    self.entityUuid = entityUuid
    self.baseVersion = baseVersion
    self.schemaVersion = schemaVersion
    self.createdAt = createdAt
    self.patch = patch
    self.base = base
    self.sealedDigest = sealedDigest
    self.serverId = serverId
  }
}

extension PushOperation: WireMessage {
  /// Reads an operation. In a deletion the patch deletes, independent of `isDeleted`. Other operations cannot delete.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let kind = try reader.word("operationType", OperationKind.self)
    var isDeleted = try kind == .delete ? true : reader.optional("isDeleted", reader.bool)
    guard kind == .delete || isDeleted != true else {
      throw reader.wrong("isDeleted", "expected false or no value; a deletion is a separate operation")
    }
    if kind == .create { isDeleted = nil }
    let edited = try reader.optional("userEditedFields", reader.names)
    self.init(
      operationId: try reader.text("operationId"),
      idempotencyKey: try reader.optional("idempotencyKey", reader.text), kind: kind,
      entityType: try reader.text("entityType"), entityUuid: try reader.text("entityUuid"),
      baseVersion: try reader.natural("baseVersion"), baseEpoch: try reader.optional("baseEpoch", reader.text),
      schemaVersion: try reader.natural("schemaVersion"), createdAt: try reader.optional("createdAt", reader.time),
      patch: RecordPatch(
        fields: try reader.optional("fields", reader.object) ?? [:], isDeleted: isDeleted,
        userEditedFields: edited.map(Set.init), updatedAt: try reader.time("updatedAt"),
        editTimes: try reader.editTimes()),
      base: try reader.optional("base", reader.object) ?? [:],
      sealedDigest: try reader.optional("sealedDigest", reader.text),
      serverId: try reader.optional("serverId", reader.natural))
    if let sealedDigest, !SHA256.isHexDigest(sealedDigest) {
      throw reader.wrong("sealedDigest", "expected 64 hexadecimal digits in lower case")
    }
  }

  /// The operation in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "base": base.isEmpty ? nil : .object(base), "baseEpoch": baseEpoch.map(SyncValue.text),
        "baseVersion": .integer(baseVersion),
        "createdAt": createdAt.map(SyncValue.time), "editTimes": .editTimes(patch.editTimes),
        "entityType": .text(entityType), "entityUuid": .text(entityUuid), "fields": .object(patch.fields),
        "idempotencyKey": idempotencyKey.map(SyncValue.text),
        "isDeleted": kind == .update ? patch.isDeleted.map(SyncValue.bool) : nil, "operationId": .text(operationId),
        "operationType": .text(kind.rawValue), "schemaVersion": .integer(schemaVersion),
        "sealedDigest": sealedDigest.map(SyncValue.text), "serverId": serverId.map(SyncValue.integer),
        "updatedAt": .time(patch.updatedAt),
        "userEditedFields": patch.userEditedFields.map(SyncValue.names),
      ]))
  }
}

/// The effect of an operation on its record at the server. The raw values are those of the outbox.
public enum OperationKind: String, CaseIterable, Sendable {
  case create, update, delete
}

/// The response to `POST /v1/push`.
public struct PushResponse: Equatable, Sendable {
  /// The server's clock, in milliseconds since 1970-01-01 UTC.
  public var serverTime: Int64
  /// The epoch of the versions in the results and of the cursor.
  public var epoch: String
  /// The device's next cursor; `nil` if other devices made changes that it has to pull.
  public var cursor: String?
  /// The results, one for each operation of the request, in the same order.
  public var results: [PushResult]
  /// Deletions that the push discovered at a remote without a record of deletions. Not part of the wire format.
  public var gone: [RemoteDeletions] = []

  /// Creates a response; `serverTime` is in milliseconds since 1970-01-01 UTC.
  public init(serverTime: Int64, epoch: String, cursor: String?, results: [PushResult], gone: [RemoteDeletions] = []) {
    self.serverTime = serverTime
    self.epoch = epoch
    self.cursor = cursor
    self.results = results
    self.gone = gone
  }
}

extension PushResponse: WireMessage {
  /// Parses a response.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(
      serverTime: try reader.time("serverTime"), epoch: try reader.text("epoch"),
      cursor: try reader.optional("cursor", reader.text), results: try reader.messages("results"))
  }

  /// The response in the wire format.
  public var wire: SyncValue {
    .object(
      SyncObject(present: [
        "cursor": cursor.map(SyncValue.text), "epoch": .text(epoch), "results": .array(results.map(\.wire)),
        "serverTime": .time(serverTime),
      ]))
  }
}

/// The result of one operation of a push.
public struct PushResult: Equatable, Sendable {
  /// The server's action.
  public enum Outcome: Equatable, Sendable {
    /// Stored unchanged, with these times. `version` is 0 and `serverId` nil for the deletion of a record that the
    /// server never had. Without `times` the device keeps its own.
    case accepted(version: Int64, serverId: ServerId?, times: RecordTimes? = nil)
    /// Stored together with changes that the device had not seen; `lost` are the overwritten values.
    case merged(RemoteRecord, lost: [OverwrittenValue])
    /// Not stored: the user has to decide. The record is `nil` if the server has no record. `other` names the record
    /// that holds the UNIQUE value.
    case conflict(ConflictKind, fields: [String], record: RemoteRecord?, other: RecordReference? = nil)
    /// Not stored; the status of the problem is the reason.
    case rejected(ServerProblem)
    /// Not tried, because the operation with this id was not stored.
    case waiting(for: String)
  }

  /// The operation's id.
  public var operationId: String
  /// The server's action.
  public var outcome: Outcome

  /// Creates the result of an operation.
  public init(operationId: String, outcome: Outcome) {
    self.operationId = operationId
    self.outcome = outcome
  }
}

extension PushResult.Outcome {
  /// The word of the wire format for the server's action, such as `accepted`.
  package var word: String {
    let word: PushResult.Word =
      switch self {
      case .accepted: .accepted
      case .merged: .merged
      case .conflict: .conflict
      case .rejected: .rejected
      case .waiting: .waiting
      }
    return word.rawValue
  }
}

extension PushResult: WireMessage {
  fileprivate enum Word: String, CaseIterable {
    case accepted, merged, conflict, rejected, waiting
  }

  /// Reads a result.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let outcome: Outcome =
      switch try reader.word("result", Word.self) {
      case .accepted:
        .accepted(
          version: try reader.natural("version"), serverId: try reader.optional("serverId", reader.serverId),
          times: try Self.times(reader))
      case .merged:
        .merged(
          try reader.message("record"),
          lost: try reader.optional("lost") { name throws(SyncModelError) in try reader.messages(name) } ?? [])
      case .conflict: try Self.conflict(reader)
      case .rejected: .rejected(try reader.message("problem"))
      case .waiting: .waiting(for: try reader.text("waitsFor"))
      }
    self.init(operationId: try reader.text("operationId"), outcome: outcome)
  }

  private static func times(_ reader: WireReader) throws(SyncModelError) -> RecordTimes? {
    guard let createdAt = try reader.optional("createdAt", reader.time) else { return nil }
    return RecordTimes(
      createdAt: createdAt, updatedAt: try reader.time("updatedAt"), editTimes: try reader.editTimes())
  }

  private static func conflict(_ reader: WireReader) throws(SyncModelError) -> Outcome {
    let record: RemoteRecord? = try reader.optional("record") { name throws(SyncModelError) in
      try reader.message(name)
    }
    let details = try reader.object("conflict")
    do throws(SyncModelError) {
      let inner = try WireReader(.object(details))
      return .conflict(
        try inner.word("kind"), fields: try inner.names("fields"), record: record,
        other: try inner.optional("other") { name throws(SyncModelError) in try inner.message(name) })
    } catch {
      throw error.inside("conflict")
    }
  }

  /// The result in the wire format.
  public var wire: SyncValue {
    var object: SyncObject = ["operationId": .text(operationId), "result": .text(outcome.word)]
    switch outcome {
    case .accepted(let version, let serverId, let times):
      object["createdAt"] = times.map { .time($0.createdAt) }
      object["updatedAt"] = times.map { .time($0.updatedAt) }
      object["editTimes"] = times.flatMap { .editTimes($0.editTimes) }
      object["version"] = .integer(version)
      object["serverId"] = serverId?.value
    case .merged(let record, let lost):
      object["version"] = .integer(record.state.syncVersion)
      object["serverId"] = record.serverId?.value
      object["record"] = record.wire
      object["lost"] = .array(lost.map(\.wire))
    case .conflict(let kind, let fields, let record, let other):
      object["conflict"] = .object(
        SyncObject(present: [
          "fields": .array(fields.map(SyncValue.text)), "kind": .text(kind.rawValue), "other": other?.wire,
        ]))
      object["record"] = record?.wire ?? .null
    case .rejected(let problem):
      object["problem"] = problem.wire
    case .waiting(let operationId):
      object["waitsFor"] = .text(operationId)
    }
    return .object(object)
  }
}

extension OverwrittenValue: WireMessage {
  /// Reads an overwritten value.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    self.init(field: try reader.text("field"), side: try reader.word("side"), value: try reader.value("value"))
  }

  /// The value in the wire format.
  public var wire: SyncValue { ["field": .text(field), "side": .text(side.rawValue), "value": value] }
}
