/// The rule for a field that two sides changed to different values, and for an edit against a deletion. The raw
/// values are those of `SyncedEntity.conflictPolicy`.
public enum ConflictPolicy: String, CaseIterable, Sendable {
  /// The user decides.
  case manual
  /// The later edit wins. At the same millisecond the value with the greater canonical text wins, and a deletion wins
  /// over an edit.
  case lastWriteWins = "last_write_wins"
  case serverWins = "server_wins"
  case clientWins = "client_wins"
  /// The field's owner wins. A field without an owner, and an edit against a deletion, are a conflict.
  case merge
}

/// The owner of a field under ``ConflictPolicy/merge``. The raw values are those of `SyncedColumn.ownership`.
public enum FieldOwnership: String, CaseIterable, Sendable {
  /// A program at the server fills the field (extracted texts), and the server's value wins.
  case server
  /// Personal notes and choices; the value of the side that pushes wins, so of two devices the second.
  case user
  /// A program fills the field first. After the user edited it (`userEditedFields`), the user's value wins.
  case userEdited = "user_edited"
}

/// How one column merges: a row of `SyncedColumn`. A column without a row is an ordinary one.
public struct FieldRule: Hashable, Sendable {
  /// The owner of the field under the policy `merge`; `nil` without one.
  public var ownership: FieldOwnership?
  /// Whether the field is a JSON array that merges by element, under every policy. With a value that is neither an
  /// array nor null, the field merges as an ordinary one.
  public var mergesAsSet: Bool
  /// Whether the field is computed from other columns. It is computed again after a merge, and is never in conflict.
  public var isComputed: Bool
  /// Never leaves the device.
  public var isLocalOnly: Bool

  /// The rule of one field; by default an ordinary one.
  public init(
    ownership: FieldOwnership? = nil, mergesAsSet: Bool = false, isComputed: Bool = false, isLocalOnly: Bool = false
  ) {
    self.ownership = ownership
    self.mergesAsSet = mergesAsSet
    self.isComputed = isComputed
    self.isLocalOnly = isLocalOnly
  }
}

/// How records of one entity merge: its rows of `SyncedEntity` and `SyncedColumn`.
public struct MergeRules: Hashable, Sendable {
  /// Decides fields that both sides changed.
  public var policy: ConflictPolicy
  /// By column name.
  public var fields: [String: FieldRule]

  /// The rules of an entity; a field without a rule is an ordinary one.
  public init(policy: ConflictPolicy, fields: [String: FieldRule] = [:]) {
    self.policy = policy
    self.fields = fields
  }

  /// The rule of a field.
  public subscript(field: String) -> FieldRule { fields[field] ?? FieldRule() }

  /// Returns the fields without device-only ones.
  public func shared(_ fields: SyncObject) -> SyncObject { fields.filter { !self[$0.name].isLocalOnly } }

  /// Returns whether a user entered a state's value of a field, as far as the rules tell.
  func isPersonal(_ field: String, in state: RecordState) -> Bool {
    let rule = self[field]
    if rule.isComputed { return false }
    return switch rule.ownership {
    case .server: false
    case .userEdited: state.userEditedFields.contains(field)
    case .user, nil: true
    }
  }
}
