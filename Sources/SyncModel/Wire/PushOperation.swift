/// One operation of a push.
public struct PushOperation: Equatable, Sendable {
  /// Names the operation on the device, from the moment it is queued.
  public var operationId: String
  /// Names this payload at the server, which executes a key once; nil until the operation is sealed.
  public var idempotencyKey: String?
  /// Whether the record is made, changed or deleted.
  public var kind: OperationKind
  /// The entity, such as `Room`.
  public var entityType: String
  /// The record's uuid, in lower case.
  public var entityUuid: String
  /// The version of the record that the change is based on; 0 for a new record.
  public var baseVersion: Int64
  /// The epoch that `baseVersion` belongs to; `nil` when the device has no epoch. Then the server does not trust the base.
  public var baseEpoch: String?
  /// The number of the newest file of the entity's schema that the device has applied.
  public var schemaVersion: Int64
  /// The time when the record was created, in milliseconds since 1970-01-01 UTC by the server's clock; `nil` for
  /// operations without it.
  public var createdAt: Int64?
  /// The changes. Their times are corrected to the server's clock. A deletion has `isDeleted` set.
  public var patch: RecordPatch
  /// The values that the changed fields had at `baseVersion`.
  public var base: SyncObject
  /// Whether it may have been sent before. Not part of the wire format: a FieldVault server recognises the key.
  public var isRepeated = false

  /// An operation; `createdAt` is in milliseconds since 1970-01-01 UTC.
  public init(
    operationId: String, idempotencyKey: String? = nil, kind: OperationKind, entityType: String, entityUuid: String,
    baseVersion: Int64, baseEpoch: String? = nil, schemaVersion: Int64, createdAt: Int64? = nil, patch: RecordPatch,
    base: SyncObject = [:]
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
  }
}

extension PushOperation: WireMessage {
  /// Reads an operation. In a deletion the patch deletes, independent of `isDeleted`. Other operations cannot delete.
  public init(wire: SyncValue) throws(SyncModelError) {
    let reader = try WireReader(wire)
    let kind = try reader.word("operationType", OperationKind.self)
    var isDeleted = try kind == .delete ? true : reader.optional("isDeleted", reader.bool)
    guard kind == .delete || isDeleted != true else {
      throw reader.wrong("isDeleted", "false is needed, or nothing; a deletion is an operation of its own")
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
      base: try reader.optional("base", reader.object) ?? [:])
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
        "updatedAt": .time(patch.updatedAt), "userEditedFields": patch.userEditedFields.map(SyncValue.names),
      ]))
  }
}
