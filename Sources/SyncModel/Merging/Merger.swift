/// A running merge. The times of both sides are by one clock.
struct Merger {
  let base: RecordState?
  let local: RecordState
  let remote: RecordState
  let rules: MergeRules
  let writers: MergeWriters
  /// The shared columns of all sides, ordered.
  let names: [String]

  var fields = SyncObject()
  var times: [String: Int64] = [:]
  var isDeleted = false
  var openFields: [String] = []
  var kind: ConflictKind?
  var isDeletionOpen = false
  var lost: [OverwrittenValue] = []
  var fieldsToCompute: [String] = []

  init(base: RecordState?, local: RecordState, remote: RecordState, rules: MergeRules, writers: MergeWriters) {
    self.base = base
    self.local = local
    self.remote = remote
    self.rules = rules
    self.writers = writers
    let all = (base?.fields ?? [:]).overlaid(with: local.fields).overlaid(with: remote.fields)
    names = all.names.filter { !rules[$0].isLocalOnly }
  }

  func fieldMerge(_ name: String) -> FieldMerge? {
    FieldMerge(
      base: base?.fields[name], local: local.fields[name], remote: remote.fields[name],
      mergesAsSet: rules[name].mergesAsSet)
  }

  mutating func take(_ field: FieldMerge, as name: String) {
    fields[name] = field.value
    times[name] =
      switch field.origin {
      case .local: local.editTime(of: name)
      case .remote, .neither: remote.editTime(of: name)
      case .both: max(local.editTime(of: name), remote.editTime(of: name))
      }
  }

  // MARK: Fields

  mutating func mergeFields() {
    for name in names where !rules[name].isComputed {
      guard var field = fieldMerge(name) else { continue }
      if field.isDisputed {
        kind = kind ?? .concurrentEdit
        decide(&field, name)
      }
      take(field, as: name)
    }
  }

  private mutating func decide(_ field: inout FieldMerge, _ name: String) {
    guard let localValue = local.fields[name], let remoteValue = remote.fields[name] else { return }
    switch winner(of: name, localValue, remoteValue) {
    case .local:
      if isPersonal(name, of: .remote) { report(name, .remote, remoteValue) }
    case .remote:
      field.value = remoteValue
      field.origin = .remote
      if isPersonal(name, of: .local) { report(name, .local, localValue) }
    case nil:
      openFields.append(name)
    }
  }

  /// Returns the side whose value a disputed field takes; `nil` if the user has to decide.
  private func winner(of name: String, _ localValue: SyncValue, _ remoteValue: SyncValue) -> MergeSide? {
    switch rules.policy {
    case .serverWins: return .remote
    case .clientWins: return .local
    case .lastWriteWins: return later(name, localValue, remoteValue)
    case .manual, .merge:
      // A deletion by both sides is not a dispute.
      if local.isDeleted && remote.isDeleted { return later(name, localValue, remoteValue) }
      guard rules.policy == .merge else { return nil }
      return writers.winner(of: name, rules[name].ownership, listed: local.userEditedFields.contains(name))
    }
  }

  /// Returns the side that wrote later. At the same millisecond it is the side whose value has the greater canonical
  /// text, so that every side decides equally.
  private func later(_ name: String, _ localValue: SyncValue, _ remoteValue: SyncValue) -> MergeSide {
    let localTime = local.editTime(of: name)
    let remoteTime = remote.editTime(of: name)
    if localTime != remoteTime { return localTime > remoteTime ? .local : .remote }
    return UTF16Order.compare(localValue.canonicalJSON, remoteValue.canonicalJSON) == .after ? .local : .remote
  }

  /// Returns whether a user entered a side's value of a field.
  func isPersonal(_ name: String, of side: MergeSide) -> Bool {
    let isOfService = side == .local ? writers.isLocalService : writers.serviceFields.contains(name)
    return !isOfService && rules.isPersonal(name, in: state(of: side))
  }

  mutating func report(_ field: String, _ side: MergeSide, _ value: SyncValue) {
    if lost.contains(where: { $0.field == field && $0.side == side }) { return }
    lost.append(OverwrittenValue(field: field, side: side, value: value))
  }
}

extension Merger {
  /// Decides whether the merged record is deleted.
  ///
  /// Its fields are merged in any case, so that a restored record has all edits.
  mutating func mergeDeletion() {
    let name = RecordState.deletionField
    let wasDeleted = base?.isDeleted ?? false
    guard local.isDeleted != remote.isDeleted else {
      isDeleted = local.isDeleted
      let isChange = isDeleted != wasDeleted
      times[name] =
        isChange ? max(local.editTime(of: name), remote.editTime(of: name)) : remote.editTime(of: name)
      return
    }
    let changer: MergeSide = local.isDeleted != wasDeleted ? .local : .remote
    let other: MergeSide = changer == .local ? .remote : .local
    let edits = wasDeleted ? [] : edits(of: other)
    guard !edits.isEmpty else { return take(deletionOf: changer) }

    kind = changer == .local ? .deletedLocally : .deletedRemotely
    switch winner(deletedBy: changer, editedAt: edits.map { state(of: other).editTime(of: $0) }.max()) {
    case nil:
      isDeletionOpen = true
      take(deletionOf: .local)
    case changer:
      take(deletionOf: changer)
      for field in edits {
        if isPersonal(field, of: other), let value = state(of: other).fields[field] {
          report(field, other, value)
        }
      }
    default:
      take(deletionOf: other)
      report(name, changer, true)
    }
  }

  func state(of side: MergeSide) -> RecordState { side == .local ? local : remote }

  private mutating func take(deletionOf side: MergeSide) {
    isDeleted = state(of: side).isDeleted
    times[RecordState.deletionField] = state(of: side).editTime(of: RecordState.deletionField)
  }

  /// Returns the fields of a side that contradict a deletion: its changes since the base.
  ///
  /// If the owners of fields decide, only values that a user entered count. A program that reads a receipt again does
  /// not question the deletion.
  private func edits(of side: MergeSide) -> [String] {
    let state = state(of: side)
    return names.filter { name in
      guard !rules[name].isComputed, isEdited(name, in: state) else { return false }
      return rules.policy != .merge || isPersonal(name, of: side)
    }
  }

  /// Returns whether a field has another value than in the base. A set in another order is not an edit: a merge may
  /// drop the order, so the time of that change must not decide anything.
  private func isEdited(_ name: String, in state: RecordState) -> Bool {
    let old = base?.fields[name]
    guard let value = state.fields[name], value != old else { return false }
    guard rules[name].mergesAsSet, let set = SetMerge(base: old, local: value, remote: value) else { return true }
    return set.isChanged.local
  }

  private func winner(deletedBy changer: MergeSide, editedAt editTime: Int64?) -> MergeSide? {
    switch rules.policy {
    case .manual, .merge: nil
    case .serverWins: .remote
    case .clientWins: .local
    case .lastWriteWins:
      // At the same millisecond the deletion: the canonical text of true is greater than that of false.
      (editTime ?? .min) > state(of: changer).editTime(of: RecordState.deletionField)
        ? (changer == .local ? .remote : .local) : changer
    }
  }
}

extension Merger {
  /// Gives computed columns a value until they are computed again, and returns the columns to compute.
  ///
  /// A computed column whose inputs all come from one side keeps that side's value.
  mutating func mergeComputedFields() {
    let isLikeLocal = fields == ordinary(local)
    let isLikeRemote = fields == ordinary(remote)
    var computed: [(String, FieldMerge)] = []
    for name in names where rules[name].isComputed {
      guard var field = fieldMerge(name) else { continue }
      if field.isDisputed, let remoteValue = remote.fields[name],
        UTF16Order.compare(field.value.canonicalJSON, remoteValue.canonicalJSON) == .before
      {
        field.value = remoteValue
        field.origin = .remote
      }
      let goesWithLocal = isLikeLocal && local.fields[name] == field.value
      let goesWithRemote = isLikeRemote && remote.fields[name] == field.value
      let isDoubtful = field.isDisputed && isLikeLocal && isLikeRemote
      if isDoubtful || !(goesWithLocal || goesWithRemote) { fieldsToCompute.append(name) }
      computed.append((name, field))
    }
    for (name, field) in computed { take(field, as: name) }
  }

  private func ordinary(_ state: RecordState) -> SyncObject {
    state.fields.filter { !rules[$0.name].isComputed && !rules[$0.name].isLocalOnly }
  }

  /// Keeps the local values of device-only columns.
  mutating func keepLocalOnlyFields() {
    for member in local.fields.members where rules[member.name].isLocalOnly {
      fields[member.name] = member.value
      times[member.name] = local.editTime(of: member.name)
    }
  }

  func result() -> MergeResult {
    let merged = RecordState(
      fields: fields, isDeleted: isDeleted, syncVersion: remote.syncVersion, updatedAt: updatedAt, editTimes: times,
      userEditedFields: local.userEditedFields.union(remote.userEditedFields))
    let isOpen = isDeletionOpen || !openFields.isEmpty
    // A side that lacks a field has not changed it. So the server receives the field only if this device changed it.
    var known = remote
    known.fields = (base?.fields ?? [:]).overlaid(with: remote.fields)
    let conflict = kind.flatMap { kind in
      isOpen
        ? Conflict(kind: kind, fields: openFields, base: base, local: local, remote: remote, merged: merged) : nil
    }
    return MergeResult(
      merged: merged, conflict: conflict, kind: kind,
      lost: lost.sorted { UTF16Order.compare($0.field, $1.field) == .before }, fieldsToCompute: fieldsToCompute,
      patchToPush: isOpen ? RecordPatch(updatedAt: updatedAt) : RecordPatch(from: known, to: shared(merged)),
      needsApply: !merged.hasContent(of: local))
  }

  /// The time of the last change that is in the merged record.
  private var updatedAt: Int64 {
    switch (isChanged(local), isChanged(remote)) {
    case (true, false): local.updatedAt
    case (false, true): remote.updatedAt
    default: max(local.updatedAt, remote.updatedAt)
    }
  }

  private func isChanged(_ state: RecordState) -> Bool {
    guard let base else { return true }
    return !RecordPatch(from: base, to: shared(state)).isEmpty
  }

  /// Returns a state without device-only columns.
  private func shared(_ state: RecordState) -> RecordState {
    var shared = state
    shared.fields = rules.shared(state.fields)
    return shared
  }
}
