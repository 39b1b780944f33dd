import CipherSQL

/// Statement 1 for values that others overwrite: a user had seen the value that a write replaces, or a conflict shows it.
struct OverwrittenCheck {
  let devices: [any WatchedDevice]
  let history: [ServerStore.Version]
  /// Devices whose vaults were restored. Their conflicts may be lost.
  let restored: Set<String>
  /// Records whose conflicts may be unknown to the device, because data of the server were lost with them.
  let unanswered: Set<String>
  /// The senders of the versions that the server accepted as they were sent, by "UUID version". Such a version overwrites nothing
  /// that its sender had not received.
  let accepted: [String: String]
  /// The versions of the server that restores have replaced, by restore.
  let lost: [[ServerStore.Version]]
  /// The records that may have left each device, by its name, with the history of their conflicts.
  let left: [String: Set<String>]

  private struct Write {
    let device: String
    let uuid: String
    let number: Int
    let seen: String?
    /// Whether the user has discarded an operation of the record later. If the server had stored it and the response was lost,
    /// the device cannot know what it replaced.
    var isDiscarded = false
  }

  /// - Throws: ``Violation``
  func check() throws {
    let writes = try writes()
    var current: [String: String] = [:]
    for version in history where !version.isForgotten {
      let before = current.updateValue(version.marker ?? "", forKey: version.uuid)
      // DroppedEditCheck looks at edits that meet a deletion. After a loss of the server, the deletion has its own values.
      guard !version.isDeleted, let before, let marker = version.marker, before != marker, let write = writes[marker],
        write.seen != nil, writes[before] != nil, !restored.contains(write.device), !write.isDiscarded,
        left[write.device]?.contains(version.uuid) != true, !knows(write, before, writes)
      else { continue }
      if unanswered.contains(version.uuid), isResponseLost(version, write, over: before) { continue }
      // A user who saw in a conflict what was written over the value knows the value.
      let later = writes.filter { $0.value.uuid == version.uuid && knows($0.value, before, writes) }.keys
      if try ([before] + later).contains(where: { try isInConflict(version.uuid, $0) }) { continue }
      throw Violation(
        1,
        [
          "\(write.device) overwrote '\(before)' with '\(marker)' and had not seen it, and no conflict shows it:",
          "\(version.entity) \(version.uuid)",
        ] + history.filter { $0.uuid == version.uuid }.map { "server: version \($0.version) \($0.marker ?? "NULL")" })
    }
  }

  /// The writes of users by the value that they wrote, which is never written again.
  private func writes() throws -> [String: Write] {
    var writes: [String: Write] = [:]
    for device in devices {
      var discarded: Set<String> = []
      for (number, entry) in try device.entries().entries.enumerated().reversed() {
        if entry.kind == .decide, entry.marker == Journal.discarded { discarded.insert(entry.uuid) }
        guard entry.kind == .mark else { continue }
        writes[entry.marker] = Write(
          device: device.name, uuid: entry.uuid, number: number, seen: entry.seen,
          isDiscarded: discarded.contains(entry.uuid))
      }
    }
    return writes
  }

  /// Whether only a response that was lost with data of the server has shown the overwritten value.
  private func isResponseLost(_ version: ServerStore.Version, _ write: Write, over before: String) -> Bool {
    guard let sender = accepted["\(version.uuid) \(version.version)"] else { return true }
    // After a restore, another device brings back a version that it had received. The server had overwritten the value before.
    return sender != write.device && lost.contains { overwrites($0, before, with: version) }
  }

  /// Whether the versions of a server contain a version whose value replaces another one.
  private func overwrites(
    _ history: [ServerStore.Version], _ before: String, with version: ServerStore.Version
  ) -> Bool {
    let values = history.filter { $0.uuid == version.uuid }.map { $0.marker ?? "" }
    return zip(values, values.dropFirst()).contains { $0 == before && $1 == version.marker }
  }

  private func isInConflict(_ uuid: String, _ marker: String) throws -> Bool {
    try devices.contains { try $0.showsInConflict(uuid, marker) }
  }

  /// Whether the user of a write had seen a value or one that was written over it, or had written it.
  private func knows(_ write: Write, _ marker: String, _ writes: [String: Write]) -> Bool {
    if let own = writes[marker], own.device == write.device, own.number < write.number { return true }
    var seen = write.seen
    while let value = seen {
      if value == marker { return true }
      seen = writes[value]?.seen
    }
    return false
  }
}

extension WatchedDevice {
  /// Whether a conflict, open or decided, shows a value of a record.
  func showsInConflict(_ uuid: String, _ marker: String) throws -> Bool {
    try read { connection in
      try connection.fetchOne(
        """
        SELECT EXISTS (SELECT 1 FROM OfflineConflictResolution WHERE entityUuid = \(uuid)
          AND (instr(localVersion, \(marker)) > 0 OR instr(coalesce(remoteVersion, ''), \(marker)) > 0
            OR instr(coalesce(base, ''), \(marker)) > 0))
        """, as: Bool.self) ?? false
    }
  }
}
