import CipherSQL
import VaultStore

/// Statement 1 across copies and restores: a value of the server that a device also had stays there, waits in an outbox or is
/// shown in a conflict, unless a user changed the record afterwards.
struct KeptValues {
  private struct Value {
    let entity: String
    let marker: String
    let isDeleted: Bool
    /// The devices that had the value and can send it again.
    var holders: Set<String>
  }

  /// The values by record, of records without unsent changes on any device.
  private var values: [String: Value] = [:]
  /// How long the journals were, by device.
  private var lengths: [String: Int] = [:]

  /// The values before the server is restored, and after vaults were.
  /// - Parameters:
  ///   - history: the versions of the server.
  ///   - underway: records of pushes that have not arrived yet. The vault that sent one may be restored meanwhile.
  ///   - withDeletions: whether deleted records stay deleted.
  init(
    _ devices: [any WatchedDevice], _ history: [ServerStore.Version], underway: Set<String> = [],
    withDeletions: Bool = true
  ) throws {
    var current: [String: ServerStore.Version] = [:]
    for version in history { current[version.uuid] = version }
    var unsent = underway
    for device in devices {
      lengths[device.name] = try device.entries().entries.count
      try device.read { connection in
        unsent.formUnion(
          try connection.fetch(
            """
            SELECT entityUuid FROM OfflineSyncQueue WHERE completedAt IS NULL
            UNION SELECT entityUuid FROM OfflineConflictResolution WHERE resolvedAt IS NULL
            UNION SELECT entityUuid FROM SyncInbox
            """, as: String.self))
        for kind in device.workload.kinds {
          for (uuid, marker, isDeleted) in try connection.fetchRows(
            """
            SELECT uuid, coalesce(\(identifier: kind.marker), ''), isDeleted FROM \(identifier: kind.table)
            WHERE isDirty = 0
            """, as: String.self, String.self, Bool.self)
          {
            guard let version = current[uuid], version.isDeleted == isDeleted, version.marker ?? "" == marker,
              withDeletions || !isDeleted
            else { continue }
            let holders = (values[uuid]?.holders ?? []).union([device.name])
            values[uuid] = Value(entity: kind.entity, marker: marker, isDeleted: isDeleted, holders: holders)
          }
        }
      }
    }
    values = values.filter { !unsent.contains($0.key) }
  }

  /// Forgets the values that only this device had, because its vault is replaced by a backup. The server may have lost a
  /// value that the device has not sent again. Values that other devices received meanwhile are kept by the next loss of
  /// the server.
  mutating func forgetValues(of device: String) {
    for uuid in values.keys { values[uuid]?.holders.remove(device) }
    values = values.filter { !$0.value.holders.isEmpty }
  }

  /// - Parameters:
  ///   - isHandled: whether a user ever deleted, restored or discarded the record or a record that it references.
  ///   - history: the current versions of the server.
  ///   - lost: the versions of the server before each of its restores.
  /// - Throws: ``Violation``
  func check(
    _ devices: [any WatchedDevice], _ history: [ServerStore.Version], lost: [[ServerStore.Version]],
    isHandled: (String) -> Bool
  ) throws {
    var current: [String: ServerStore.Version] = [:]
    for version in history { current[version.uuid] = version }
    var written: Set<String> = []
    for device in devices {
      let entries = try device.entries().entries
      written.formUnion(entries.dropFirst(lengths[device.name] ?? 0).map(\.uuid))
    }
    for (uuid, value) in values.sorted(by: { $0.key < $1.key }) where !written.contains(uuid) {
      let now = current[uuid]
      if let now, now.marker ?? "" == value.marker, now.isDeleted == value.isDeleted || isHandled(uuid) { continue }
      // A deleted record may be forgotten.
      if now == nil, value.isDeleted || isHandled(uuid) { continue }
      if try devices.contains(where: { try $0.showsInConflict(uuid, value.marker) }) { continue }
      // The value waits in an outbox, for example behind the open conflict of a record that it references.
      if try devices.contains(where: { try Self.waits($0, uuid, value) }) { continue }
      // The server had lost an edit of this value, and the backup of a vault brought the edit back.
      if let now, lost.contains(where: { Self.isSuccessor(now, of: value, in: $0) }) { continue }
      // The record was deleted later, and another restore undid the deletion. Devices do not keep the rows of deleted records.
      if lost.contains(where: { Self.isDeleted(uuid, with: value, in: $0) }) { continue }
      throw Violation(
        1,
        [
          "\(value.holders.sorted().joined(separator: ", ")) had '\(value.marker)'\(value.isDeleted ? ", deleted," : "") as the server did, and now the "
            + "server has \(now.map { "'\($0.marker ?? "")'\($0.isDeleted ? ", deleted" : "")" } ?? "nothing"):",
          "\(value.entity) \(uuid)",
        ])
    }
  }

  private static func isSuccessor(
    _ now: ServerStore.Version, of value: Value, in history: [ServerStore.Version]
  ) -> Bool {
    let versions = history.filter { $0.uuid == now.uuid }
    guard let earlier = versions.first(where: { $0.marker ?? "" == value.marker && !$0.isDeleted }) else {
      return false
    }
    return versions.contains { $0.marker == now.marker && $0.version > earlier.version }
  }

  /// Returns whether the server had deleted a record with a value when a restore replaced its versions.
  private static func isDeleted(_ uuid: String, with value: Value, in history: [ServerStore.Version]) -> Bool {
    let versions = history.filter { $0.uuid == uuid }
    return versions.last?.isDeleted == true && versions.contains { $0.marker ?? "" == value.marker && !$0.isDeleted }
  }

  private static func waits(_ device: any WatchedDevice, _ uuid: String, _ value: Value) throws -> Bool {
    guard let kind = device.workload.kind(value.entity) else { return false }
    return try device.read { connection in
      try connection.fetchOne(
        """
        SELECT EXISTS (SELECT 1 FROM \(identifier: kind.table) AS record JOIN OfflineSyncQueue ON entityUuid = record.uuid
          WHERE record.uuid = \(uuid) AND \(identifier: kind.marker) = \(value.marker) AND record.isDirty = 1
            AND record.isDeleted = \(value.isDeleted) AND completedAt IS NULL)
        """, as: Bool.self) ?? false
    }
  }
}
