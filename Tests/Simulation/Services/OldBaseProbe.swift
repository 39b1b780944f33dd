import CipherSQL
import GeneratedSchemas
import SyncModel

/// Sends an edit whose base has the version of the record but belongs to the epoch before, as a request that was late. The
/// device has not seen the value that the server has stored in the new epoch.
struct OldBaseProbe {
  /// The key of the operation.
  static let key = "base of another epoch"

  let device: SimulatedDevice
  let operation: PushOperation

  /// - Throws: ``Violation`` if the server takes the base for its own version.
  func check() async throws {
    let response = try await device.push(
      PushRequest(
        deviceId: "00000000-0000-7000-8000-00000000000e", deviceCounter: 1, cursor: nil, operations: [operation]))
    guard case .accepted? = response.results.first?.outcome else { return }
    throw Violation(
      6,
      [
        "the server takes the base of another epoch for its own version, and overwrites a value without a conflict:",
        "\(operation.entityType) \(operation.entityUuid)",
      ])
  }

  /// Returns the edits of live records whose user decides about conflicts, and whose marker has changed in the last epoch.
  /// A correct server refuses each of them.
  static func operations(
    _ kinds: [Kind], at server: Connection, schemaVersion: Int64, time: Int64
  ) throws -> [PushOperation] {
    let epochs = try server.fetch("SELECT epoch FROM ServerEpoch ORDER BY number", as: String.self)
    guard epochs.count > 1 else { return [] }
    let last = "\(epochs.count - 1)"
    return try kinds.flatMap { kind in
      let found = try server.fetchRows(
        """
        SELECT entityUuid, version FROM ServerRecord, json_each(fieldVersions) AS field, json_each(startVersions) AS start
        WHERE entityType = \(kind.entity) AND isDeleted = 0 AND field.key = \(kind.marker) AND start.key = \(last)
          AND field.value > start.value
        ORDER BY sequence
        """, as: String.self, Int64.self)
      return found.map { uuid, version in
        PushOperation(
          operationId: key, idempotencyKey: key, kind: .update, entityType: kind.entity, entityUuid: uuid,
          baseVersion: version, baseEpoch: epochs[epochs.count - 2], schemaVersion: schemaVersion,
          patch: RecordPatch(fields: [kind.marker: "unseen"], updatedAt: time))
      }
    }
  }
}
