import RecordStore
import SyncModel
import VaultStore

/// Statement 6 for deletions: an edit that meets the deletion by another device is stored with the restored record, or a
/// conflict shows the edit.
struct DroppedEditCheck {
  let devices: [any WatchedDevice]
  let history: HistoryCheck
  /// Devices whose vaults were restored. Their conflicts may be lost.
  let restored: Set<String>
  /// Records that may have been sent more than once, or whose response may be lost.
  let resent: Set<String>
  /// The records that may have left each device, by its name, with the history of their conflicts.
  let left: [String: Set<String>]

  /// - Throws: ``Violation``
  func check() throws {
    // The values that the server has stored, and whether only deleted versions have them.
    var isDropped: [String: Bool] = [:]
    var last: [String: ServerStore.Version] = [:]
    for version in history.history {
      last[version.uuid] = version
      guard let marker = version.marker else { continue }
      isDropped[marker] = version.isDeleted && isDropped[marker] ?? true
    }
    for device in devices where !restored.contains(device.name) {
      let (entries, acknowledged) = try device.entries()
      // A user who deletes, restores or discards a record decides about its edits.
      let handled = Set(entries.filter { [.delete, .revive, .decide].contains($0.kind) }.map(\.uuid))
      for entry in entries where entry.kind == .mark && entry.seen != nil && isDropped[entry.marker] == true {
        guard acknowledged.contains(entry.transaction), !resent.contains(entry.uuid),
          left[device.name]?.contains(entry.uuid) != true,
          let version = last[entry.uuid], version.isDeleted, version.marker == entry.marker,
          isPersonal(entry, on: device), !history.isHandled(entry.uuid, by: handled), !isSentWithDeletion(entry)
        else { continue }
        if try devices.contains(where: { try $0.showsInConflict(entry.uuid, entry.marker) }) { continue }
        throw Violation(
          6,
          [
            "an edit of \(device.name) was dropped with the deletion by another device, and no conflict shows it:",
            "\(entry.entity) \(entry.uuid)",
          ] + history.lines(of: entry.uuid))
      }
    }
  }

  /// Whether the device sent the edit with a deletion of the record. So the deletion is its own: with another record, perhaps
  /// one that the record references no longer.
  private func isSentWithDeletion(_ entry: Journal.Entry) -> Bool {
    history.operations.values.contains { operation in
      operation.kind == .delete && operation.entityUuid == entry.uuid
        && operation.patch.fields.members.contains { $0.value == .text(entry.marker) }
    }
  }

  /// Whether the value counts as entered by a user. Other values do not question a deletion.
  private func isPersonal(_ entry: Journal.Entry, on device: any WatchedDevice) -> Bool {
    guard let table = device.vault.syncCatalog.tables[entry.entity],
      let marker = device.workload.kind(entry.entity)?.marker
    else { return false }
    return [nil, .user].contains(table.rules[marker].ownership)
  }
}
