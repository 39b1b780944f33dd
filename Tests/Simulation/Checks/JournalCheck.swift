import CipherSQL
import VaultStore

/// Statement 1: an acknowledged write is at the server or in the outbox, or a user of this device has changed or
/// discarded it, or the store has recorded that a policy overwrote it.
struct JournalCheck {
  let device: any WatchedDevice
  let connection: Connection
  /// The values that each record has had at the server.
  let markers: [String: Set<String>]
  let deletedAtServer: Set<String>
  /// Records that may be sent more than once, from copies and after restores. One that a device deletes before it has sent it
  /// leaves nothing to tell the server, and another copy of the vault may send it.
  let resent: Set<String>
  /// Records that users of other devices have restored, on copies of the vault also before the server had the record.
  let restoredElsewhere: Set<String>
  /// Records that the server has stored in an empty account that took the place of the account for a while. Users of other
  /// devices may delete them there or later.
  var misplaced: Set<String> = []
  /// Records that an API has below another record than before. A device that deletes them with their former parent gets them
  /// back, without its edits.
  var moved: Set<String> = []

  /// Records that may have left the device, with the history of their conflicts.
  var left: Set<String> = []

  private enum Verdict { case settled, waits, lost }

  func check() throws {
    let (entries, acknowledged) = try device.entries()
    // Later entries about the same record, or about another one.
    let editsOfDeleted = Self.editsOfDeleted(entries)
    var laterOfRecord: [String: Set<Journal.Kind>] = [:]
    var later: Set<Journal.Kind> = []
    for (index, entry) in entries.enumerated().reversed() {
      defer {
        laterOfRecord[entry.uuid, default: []].insert(entry.kind)
        later.insert(entry.kind)
      }
      guard acknowledged.contains(entry.transaction), !device.isSettled(index) else { continue }
      let own = laterOfRecord[entry.uuid] ?? []
      let verdict: Verdict
      switch entry.kind {
      case .mark where editsOfDeleted.contains(index) && resent.contains(entry.uuid): verdict = .settled
      // The deletion of a record that the user does not see is acknowledged like that of an unknown record.
      case .delete where left.contains(entry.uuid): verdict = .settled
      case .mark: verdict = try mark(entry, own, editsOfDeleted.contains(index) ? later.union([.delete]) : later)
      // A delete of a record that a cascade of the same transaction has deleted changes nothing. It follows the cascade.
      case .delete: verdict = try deletion(entry, own, editsOfDeleted.contains(index) ? later.union([.decide]) : later)
      default: verdict = .settled
      }
      switch verdict {
      case .settled: device.settle(index)
      case .waits: break
      case .lost:
        throw Violation(
          1,
          [
            "\(device.name) acknowledged \(entry.kind) \(entry.marker) in transaction \(entry.transaction), and it is nowhere:",
            "\(entry.entity) \(entry.uuid)",
          ])
      }
    }
  }

  /// Edits and deletions of a record that the same transaction may have deleted before, directly or by a cascade. A record
  /// that was never sent is removed with all later edits.
  private static func editsOfDeleted(_ entries: [Journal.Entry]) -> Set<Int> {
    var deletion: Int?
    var edits: Set<Int> = []
    for (index, entry) in entries.enumerated() {
      if entry.kind == .mark || entry.kind == .delete, deletion == entry.transaction { edits.insert(index) }
      if entry.kind == .delete { deletion = entry.transaction }
    }
    return edits
  }

  private func mark(_ entry: Journal.Entry, _ own: Set<Journal.Kind>, _ any: Set<Journal.Kind>) throws -> Verdict {
    if markers[entry.uuid]?.contains(entry.marker) == true { return .settled }
    if misplaced.contains(entry.uuid), deletedAtServer.contains(entry.uuid) { return .settled }
    if left.contains(entry.uuid) { return .settled }
    if !own.isDisjoint(with: [.mark, .delete, .decide]) { return .settled }
    if let seen = try conflict(entry, containing: entry.marker) { return seen ? .settled : .waits }
    guard let (isDirty, isDeleted, marker) = try row(entry) else {
      // Gone with another record that was deleted or given up here.
      return any.isDisjoint(with: [.delete, .decide]) ? .lost : .settled
    }
    if isDirty, marker == entry.marker { return .waits }
    // Another device may have sent a record again that was deleted here with another one, and the user of a copy of the
    // vault may have restored it before the server had it.
    let mayReturn =
      isDeleted || resent.contains(entry.uuid) || !restoredElsewhere.isEmpty || moved.contains(entry.uuid)
    return mayReturn && !any.isDisjoint(with: [.delete, .decide]) ? .settled : .lost
  }

  private func deletion(_ entry: Journal.Entry, _ own: Set<Journal.Kind>, _ any: Set<Journal.Kind>) throws -> Verdict {
    if deletedAtServer.contains(entry.uuid) || resent.contains(entry.uuid) || restoredElsewhere.contains(entry.uuid)
      || !own.isDisjoint(with: [.revive, .decide])
    {
      return .settled
    }
    guard let (isDirty, isDeleted, _) = try row(entry) else { return markers[entry.uuid] == nil ? .settled : .lost }
    if isDeleted, markers[entry.uuid] == nil { return .settled }
    if let seen = try conflict(entry, containing: "") { return seen ? .settled : .waits }
    if isDeleted, isDirty { return .waits }
    // With a parent that was brought back or whose deletion was given up.
    return any.isDisjoint(with: [.revive, .decide]) ? .lost : .settled
  }

  /// Whether a conflict that shows the value is resolved; `nil` without a conflict.
  private func conflict(_ entry: Journal.Entry, containing text: String) throws -> Bool? {
    try connection.fetchOne(
      """
      SELECT resolvedAt IS NOT NULL FROM OfflineConflictResolution
      WHERE entityType = \(entry.entity) AND entityUuid = \(entry.uuid) AND instr(localVersion, \(text)) > 0
      ORDER BY resolvedAt IS NOT NULL LIMIT 1
      """, as: Bool.self)
  }

  private func row(_ entry: Journal.Entry) throws -> (isDirty: Bool, isDeleted: Bool, marker: String)? {
    guard let kind = device.workload.kind(entry.entity) else { return nil }
    return try connection.fetchRows(
      """
      SELECT isDirty, isDeleted, coalesce(\(identifier: kind.marker), '') FROM \(identifier: kind.table)
      WHERE uuid = \(entry.uuid)
      """, as: Bool.self, Bool.self, String.self
    ).first.map { (isDirty: $0.0, isDeleted: $0.1, marker: $0.2) }
  }
}
