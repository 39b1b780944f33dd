import CipherSQL
import Foundation
import ServerSupport
import SyncModel

/// Operations as a device sends them.
enum Operation {
  static func create(
    _ type: String, _ uuid: String, _ fields: SyncObject, base: SyncObject = [:], id: String = newUuid(),
    at time: String = "2026-03-01T08:00:00.000Z"
  ) -> SyncValue {
    [
      "operationId": .text(id), "idempotencyKey": .text(id), "operationType": "create", "entityType": .text(type),
      "entityUuid": .text(uuid),
      "baseVersion": 0, "schemaVersion": 1, "createdAt": .text(time), "updatedAt": .text(time),
      "fields": .object(fields),
      "base": .object(base),
    ]
  }

  static func update(
    _ type: String, _ uuid: String, _ fields: SyncObject, base: SyncObject = [:], version: Int64,
    id: String = newUuid(),
    at time: String = "2026-03-01T09:00:00.000Z", isDeleted: Bool? = nil
  ) -> SyncValue {
    var object: SyncObject = [
      "operationId": .text(id), "idempotencyKey": .text(id), "operationType": "update", "entityType": .text(type),
      "entityUuid": .text(uuid),
      "baseVersion": .integer(version), "schemaVersion": 1, "updatedAt": .text(time), "fields": .object(fields),
      "base": .object(base),
    ]
    if let isDeleted { object["isDeleted"] = .bool(isDeleted) }
    return .object(object)
  }

  static func delete(
    _ type: String, _ uuid: String, version: Int64, fields: SyncObject = [:], id: String = newUuid(),
    at time: String = "2026-03-01T10:00:00.000Z"
  ) -> SyncValue {
    [
      "operationId": .text(id), "idempotencyKey": .text(id), "operationType": "delete", "entityType": .text(type),
      "entityUuid": .text(uuid), "fields": .object(fields),
      "baseVersion": .integer(version), "schemaVersion": 1, "updatedAt": .text(time),
    ]
  }
}
