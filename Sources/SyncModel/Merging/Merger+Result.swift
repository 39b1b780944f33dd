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

  /// Device-only columns keep the local values.
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

  /// A state without the columns that never leave the device.
  private func shared(_ state: RecordState) -> RecordState {
    var shared = state
    shared.fields = rules.shared(state.fields)
    return shared
  }
}
