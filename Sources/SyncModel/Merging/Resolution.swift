/// A user's choice for one field of a conflict.
public enum FieldChoice: Equatable, Sendable {
  case local
  case remote
  /// A third value, which the user entered.
  case value(SyncValue)
}

/// A resolved conflict.
public struct Resolution: Equatable, Sendable {
  /// The resolved record, on the remote version.
  public let state: RecordState
  /// The changes that the server lacks: the operation on top of the remote version. Empty if the server lacks nothing.
  public let patch: RecordPatch
}

extension Conflict {
  /// Resolves the conflict by field.
  ///
  /// Fields without a conflict stay merged, unless a choice names them. A chosen local or own value of a column whose
  /// owner is ``FieldOwnership/userEdited`` counts as edited by the user from now on.
  ///
  /// - Parameters:
  ///   - choices: by field name; one for each of ``fields``.
  ///   - deletion: the side that decides whether the record is deleted; required if ``isAboutDeletion``.
  ///   - time: the time of the decision, in milliseconds since 1970-01-01 UTC by the server's clock.
  /// - Throws: ``SyncModelError``: `undecided` if a choice is missing, `noSuchField` if a choice names a field that
  ///   its side lacks.
  public func resolved(
    choosing choices: [String: FieldChoice], deletion: MergeSide? = nil, rules: MergeRules, at time: Int64
  ) throws(SyncModelError) -> Resolution {
    if let open = fields.first(where: { choices[$0] == nil }) {
      throw SyncModelError(.undecided, "no value is chosen for the field \(open)")
    }
    if isAboutDeletion && deletion == nil {
      throw SyncModelError(.undecided, "the resolution does not say whether to delete the record")
    }
    var patch = RecordPatch(updatedAt: time)
    var edited = merged.userEditedFields
    for (field, choice) in choices {
      patch.fields[field] = try value(of: field, choice)
      if choice != .remote && rules[field].ownership == .userEdited { edited.insert(field) }
    }
    patch.userEditedFields = edited
    patch.isDeleted = deletion.map { $0 == .local ? local.isDeleted : remote.isDeleted }
    var state = merged.applying(patch)
    state.syncVersion = remote.syncVersion
    var shared = state
    shared.fields = rules.shared(state.fields)
    return Resolution(state: state, patch: RecordPatch(from: remote, to: shared))
  }

  /// Resolves all open fields for one side. Changes that only the other side made stay.
  public func resolved(choosing side: MergeSide, rules: MergeRules, at time: Int64) throws(SyncModelError) -> Resolution
  {
    let choice: FieldChoice = side == .local ? .local : .remote
    return try resolved(
      choosing: Dictionary(uniqueKeysWithValues: fields.map { ($0, choice) }), deletion: side, rules: rules, at: time)
  }

  private func value(of field: String, _ choice: FieldChoice) throws(SyncModelError) -> SyncValue {
    let value: SyncValue? =
      switch choice {
      case .local: local.fields[field] ?? base?.fields[field]
      case .remote: remote.fields[field] ?? base?.fields[field]
      case .value(let value): merged.fields[field] == nil ? nil : value
      }
    guard let value else { throw SyncModelError(.noSuchField, "the conflict has no field \(field)") }
    return value
  }
}
