import CipherSQL
import RecordStore
import SchemaModel
import SyncModel

/// A user's decision about a conflict.
package struct ConflictDecision: Sendable {
  /// The side whose values count for fields without a choice, and for a deletion.
  package var side: MergeSide
  /// Choices for single fields.
  package var fields: [String: FieldChoice]
  package var note: String?
  /// The name of the user.
  package var user: String

  package init(side: MergeSide, fields: [String: FieldChoice] = [:], note: String? = nil, user: String) {
    (self.side, self.fields, self.note, self.user) = (side, fields, note, user)
  }
}

/// Performs a user's decision about a conflict.
package struct ConflictResolver: SyncComponent {
  let sync: SyncTransaction

  /// Resolves a conflict. The result is a new operation on top of the remote version, or no operation if the record
  /// equals it.
  /// - Throws: ``VaultError`` with `noSuchRecord` for a conflict that is not open, `noSuchField`, `badValue` for a
  ///   value that the table refuses, `refused` if the decision does not resolve the conflict.
  package func resolve(_ conflictId: String, _ decision: ConflictDecision) throws {
    let conflict = try OpenConflict.find(conflictId, in: connection)
    guard let table = catalog.tables[conflict.entityType],
      let record = try table.find(key: conflict.entityId, in: connection)
    else {
      throw VaultError(.refused, "the record of this conflict no longer exists", remedy: .repairVault)
    }
    for name in decision.fields.keys where table.places[name] == nil {
      throw VaultError(
        .noSuchField, "\(table.entity.type) has no shared field '\(name)'",
        hint: "its fields are \(table.columns.map(\.name).joined(separator: ", "))", name: name,
        candidates: table.columns.map(\.name))
    }
    if let unsendable = record.unsendable, decision.side == .local, decision.fields[unsendable.field] == nil {
      throw VaultError(
        .badValue, "\(table.entity.type).\(unsendable.message)", hint: "change the value first, or take the server's",
        name: unsendable.field)
    }
    try explainingConstraints(of: table) {
      try changes.returningValues(of: record, table) {
        switch conflict.kind {
        case .concurrentEdit, .deletedRemotely, .deletedLocally:
          if let remote = conflict.remote, try !isAboutParents(conflict, record, table) {
            try resolve(conflict, remote, record, table, decision)
          } else {
            try resolveOrphan(conflict, record, table, decision)
          }
        case .notUnique, .parentMissing: try resolveOrphan(conflict, record, table, decision)
        }
      }
    }
    try close(decision, record, table)
  }

  /// Translates a violated constraint into an error that names the field.
  /// - Throws: ``VaultError`` with `badValue` or `refused` for a rule of the table, and the other errors of `body`.
  func explainingConstraints(of table: RecordTable, _ body: () throws -> Void) throws {
    do {
      // A deferred foreign key fails here, and not at the commit, which knows neither the record nor the field.
      try connection.checkedSavepoint(body)
    } catch let error as SQLError where error.code == .constraint {
      if case .unique(let columns) = error.constraint, let clash = clash(of: columns, besides: table.entity) {
        throw VaultError(
          .refused, "a dependent cannot be restored: another record now has the same \(clash)",
          hint: "change that record first, or keep the deletion")
      }
      // A trigger raised the error, and it names no field.
      if case .other(let message) = error.constraint {
        throw VaultError(.refused, message, hint: "change or delete that record first")
      }
      let (field, message) = ConstraintMessage(entity: table.entity).explain(error, connection)
      throw VaultError(.badValue, field.map { "\(table.entity.type).\($0) \(message)" } ?? message, name: field)
    } catch let missing as MissingReferences {
      let first = missing.references[0]
      throw VaultError(
        .badValue, "\(table.entity.type).\(first.column) refers to a \(first.entityType) that is not on this device",
        name: first.column)
    }
  }

  /// Returns the unique columns of another entity for a message; `nil` if they belong to this entity.
  private func clash(of columns: [String], besides entity: Entity) -> String? {
    let places = columns.map { $0.split(separator: ".", maxSplits: 1).map(String.init) }
    guard let table = places.first?.first, table != entity.table.name else { return nil }
    let type = catalog.entities.entity(ofTable: table)?.type ?? table
    return places.compactMap(\.last).map { "\(type).\($0)" }.joined(separator: ", ")
  }

  /// Returns whether the server refused the record because a referenced record is deleted, and not because of the
  /// record itself.
  private func isAboutParents(_ conflict: OpenConflict, _ record: StoredRecord, _ table: RecordTable) throws -> Bool {
    guard conflict.kind == .deletedRemotely, let remote = conflict.remote else { return false }
    let own = merged(conflict, remote, record, table).conflict?.fields ?? []
    return table.keys(within: conflict.fields).contains { !$0.columns.allSatisfy(own.contains) }
  }

  /// Merges again, because the user may have edited the local version.
  private func merged(
    _ conflict: OpenConflict, _ remote: RecordState, _ record: StoredRecord, _ table: RecordTable
  ) -> MergeResult {
    merge(
      base: conflict.base, local: record.state, remote: remote, rules: table.rules,
      clock: MergeClock(serverNow: serverNow, localOffset: clockOffset))
  }

  private func close(_ decision: ConflictDecision, _ record: StoredRecord, _ table: RecordTable) throws {
    let sides = Set(decision.fields.values.map(\.word) + [decision.side.rawValue])
    let resolution =
      decision.fields.isEmpty ? "\(decision.side.rawValue)_wins" : sides.contains("value") ? "manual" : "merge"
    var choices: SyncObject = ["take": .text(decision.side.rawValue)]
    choices["set"] = .object(
      SyncObject(
        decision.fields.map { name, choice -> (String, SyncValue) in
          if case .value(let value) = choice { return (name, ["value": value]) }
          return (name, .text(choice.word))
        }))
    try conflicts.close(
      of: record, table, resolution: resolution, by: decision.user, note: decision.note, choices: choices)
  }

  /// Merges two versions of a record with the user's choices.
  private func resolve(
    _ conflict: OpenConflict, _ remote: RecordState, _ record: StoredRecord, _ table: RecordTable,
    _ decision: ConflictDecision
  ) throws {
    let result = merged(conflict, remote, record, table)
    let open = result.conflict
    let choice: FieldChoice = decision.side == .local ? .local : .remote
    var choices = decision.fields
    for field in open?.fields ?? [] where choices[field] == nil { choices[field] = choice }
    let target: RecordState
    if let open {
      target = try open.resolved(
        choosing: choices, deletion: open.isAboutDeletion ? decision.side : nil, rules: table.rules, at: now
      ).state
    } else {
      // The server refused the deletion or restoration because of another record, so the two versions themselves do not
      // conflict.
      var state = conflict.kind != .concurrentEdit && decision.side == .remote ? remote : result.merged
      for (field, choice) in choices {
        switch choice {
        case .local: state.fields[field] = record.state.fields[field]
        case .remote: state.fields[field] = remote.fields[field]
        case .value(let value): state.fields[field] = value
        }
      }
      target = state
    }
    try adopt(record, on: target, remote: remote, table)
  }

  /// Gives a record the version that the user chose over the remote version, and queues the difference.
  func adopt(
    _ record: StoredRecord, on target: RecordState, remote: RecordState, _ table: RecordTable
  ) throws {
    let type = table.entity.type
    var record = record
    if record.state.isDeleted, !target.isDeleted {
      try sync.revive(record, table, towards: target)
      record = try table.find(key: record.key, in: connection) ?? record
      try restoreAncestors(of: record, table)
    }
    try outbox.removeUnfinished(type, record.key)
    var shared = target
    shared.fields = target.fields.filter { table.places[$0.name] != nil }
    shared.syncVersion = remote.syncVersion
    let base = table.base(from: remote, over: try BaseTable.find(type, record.key, in: connection))
    let patch = RecordPatch(from: base, to: shared)
    if patch.isEmpty {
      try BaseTable.forget(type, record.key, in: connection)
      shared.updatedAt = remote.updatedAt
    } else {
      try BaseTable.set(base, type, record.key, keepsUserEdits: table.keepsUserEdits, in: connection)
      try outbox.queue(patch.isDeleted == true ? .delete : .update, record, table, pending: [])
      shared.updatedAt = now
    }
    // A row with values of an older version keeps this version, so that the server merges a restoration.
    let keepsVersion = patch.isEmpty && shared.isDeleted && record.state.syncVersion > 0
    if shared.isDeleted {
      let fields = shared.fields
      // The server keeps the values of a deleted record outside the unique keys, so another record may have them.
      try keepOwnValues(of: record, in: &shared, table)
      if keepsVersion, shared.fields != fields { shared.syncVersion = record.state.syncVersion }
    }
    try table.update(
      record.key, from: record.state, to: shared,
      .init(
        serverId: record.serverId, isDirty: !patch.isEmpty, syncStatus: patch.isEmpty ? "synced" : "pending",
        lastSyncedAt: serverNow), isGone: keepsVersion ? true : nil, in: connection)
    if !patch.isEmpty { try table.compute(ofKey: record.key, in: connection) }
  }

  /// Resolves a conflict about the parent or a UNIQUE value of a record.
  ///
  /// The choice `remote` removes the record or returns it to the server's version. The choice `local` with another
  /// value moves or renames it. `local` alone restores a deleted parent.
  private func resolveOrphan(
    _ conflict: OpenConflict, _ record: StoredRecord, _ table: RecordTable, _ decision: ConflictDecision
  ) throws {
    var changes: SyncObject = [:]
    for (field, choice) in decision.fields {
      switch choice {
      case .local: continue
      case .remote:
        guard let value = conflict.remote?.fields[field] else {
          throw VaultError(
            .refused, "the server has no \(table.entity.type).\(field)", remedy: .giveValue(field: field))
        }
        changes[field] = value
      case .value(let value): changes[field] = value
      }
    }
    if decision.side == .remote {
      if let remote = conflict.remote { return try adopt(record, on: remote, remote: remote, table) }
      try sync.discardRecord(record, table)
      return
    }
    // For a key of several columns, another value in one of them is enough.
    if conflict.kind == .notUnique {
      guard conflict.fields.contains(where: { changes[$0] != nil }) else {
        throw VaultError(
          .refused, "another record has the same \(conflict.fields.joined(separator: ", "))",
          remedy: .giveOtherValueOrTakeRemote(field: conflict.fields.first ?? "FIELD"))
      }
    } else {
      for key in table.keys(within: conflict.fields) where key.columns.allSatisfy({ changes[$0] == nil }) {
        try restoreTarget(of: key, record, table)
      }
    }
    var state = record.state
    if let base = conflict.base, let remote = conflict.remote {
      let decided = Set(conflict.fields).union(decision.fields.keys)
      state.fields = try withOtherEdits(record, base, remote, table, decided: decided).overlaid(with: changes)
      // Otherwise the two conflicts would wait for each other.
      try keepOwnValues(of: record, in: &state, table, besides: changes)
    } else {
      state.fields = state.fields.overlaid(with: changes)
    }
    if let remote = conflict.remote { return try adopt(record, on: state, remote: remote, table) }
    try outbox.removeUnfinished(table.entity.type, record.key)
    state.updatedAt = now
    let isRestored = conflict.kind == .deletedRemotely && conflict.fields.isEmpty
    if isRestored {
      // The server remembers the deletion and accepts the record only as a restored one.
      try BaseTable.set(
        .tombstone(at: state.updatedAt), table.entity.type, record.key, keepsUserEdits: table.keepsUserEdits,
        in: connection)
    }
    try outbox.queue(state.syncVersion == 0 && !isRestored ? .create : .update, record, table, pending: [])
    try table.update(
      record.key, from: record.state, to: state,
      .init(serverId: record.serverId, isDirty: true, syncStatus: "pending"), in: connection)
  }

  /// Leaves a record its UNIQUE values where another record of this device has the new ones.
  /// - Parameter besides: fields whose new values stay.
  private func keepOwnValues(
    of record: StoredRecord, in state: inout RecordState, _ table: RecordTable, besides: SyncObject = [:]
  ) throws {
    for holder in try table.holders(of: state.fields, besides: record.uuid, in: connection) {
      for column in holder.key.columns where besides[column.name] == nil {
        state.fields[column.name] = record.state.fields[column.name]
      }
    }
  }

  /// Returns the fields of a record with the edits of other devices in the fields that the user does not decide about.
  private func withOtherEdits(
    _ record: StoredRecord, _ base: RecordState, _ remote: RecordState, _ table: RecordTable, decided: Set<String>
  ) throws -> SyncObject {
    var fields = record.state.fields
    for member in remote.fields.members
    where !decided.contains(member.name) && fields[member.name] == base.fields[member.name] {
      fields[member.name] = member.value
    }
    // This device may lack a record that the server's version references.
    for key in table.keys where try table.lacksParent(by: key, in: fields, connection) {
      for name in key.columns { fields[name] = record.state.fields[name] }
    }
    return fields
  }

  /// Restores the deleted record that a foreign key references.
  private func restoreTarget(of key: Dependency, _ record: StoredRecord, _ table: RecordTable) throws {
    if key.columns.contains(where: { record.state.fields[$0] ?? .null == .null }) { return }
    guard let parents = catalog.tables[key.parent.type],
      let id = try table.parent(by: key, in: record.state.fields, connection),
      let parent = try parents.find(key: id, in: connection)
    else {
      let columns = key.columns.joined(separator: ", ")
      throw VaultError(
        .refused, "the record that \(table.entity.type).\(columns) refers to is no longer on this device",
        remedy: .moveOrTakeRemote(field: key.columns[0]))
    }
    // A parent that was restored already has an operation, which this record waits for.
    if !parent.state.isDeleted { return }
    try sync.revive(parent, parents)
    try restoreAncestors(of: parent, parents)
  }

  /// Restores the deleted parents of a record, because the server would not accept the record without them.
  private func restoreAncestors(of record: StoredRecord, _ table: RecordTable) throws {
    for (key, id) in try table.parents(of: record.key, in: connection) where key.cascades {
      guard let parents = catalog.tables[key.parent.type], let parent = try parents.find(key: id, in: connection),
        parent.state.isDeleted
      else { continue }
      try sync.revive(parent, parents)
      try restoreAncestors(of: parent, parents)
    }
  }
}

extension FieldChoice {
  package var word: String {
    switch self {
    case .local: "local"
    case .remote: "remote"
    case .value: "value"
    }
  }
}
