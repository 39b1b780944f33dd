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

  /// Returns the fields of a side that stand against a deletion: its changes since the base.
  ///
  /// If the owners of fields decide, only values that a user entered count. A program that reads a receipt once more
  /// is no reason to question the deletion.
  private func edits(of side: MergeSide) -> [String] {
    let state = state(of: side)
    return names.filter { name in
      guard !rules[name].isComputed, isEdited(name, in: state) else { return false }
      return rules.policy != .merge || isPersonal(name, of: side)
    }
  }

  /// Whether a field has another value than in the base. A set in another order is no edit: a merge may drop the order,
  /// and then the time of that edit must not have decided anything.
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
