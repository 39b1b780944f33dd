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

/// The merge rule of a column: a row of `SyncedColumn`. A column without a row has the default rule.
public struct FieldRule: Hashable, Sendable {
  /// The owner of the field under the policy `merge`; `nil` without one.
  public var ownership: FieldOwnership?
  /// Whether the field is a JSON array that merges by element, under every policy. A value that is neither an array nor
  /// null merges like an ordinary field.
  public var mergesAsSet: Bool
  /// Whether the field is computed from other columns. It is computed again after a merge, and is never in conflict.
  public var isComputed: Bool
  /// Whether the field never leaves the device.
  public var isLocalOnly: Bool

  /// Creates the rule of a field, by default without an owner.
  public init(
    ownership: FieldOwnership? = nil, mergesAsSet: Bool = false, isComputed: Bool = false, isLocalOnly: Bool = false
  ) {
    self.ownership = ownership
    self.mergesAsSet = mergesAsSet
    self.isComputed = isComputed
    self.isLocalOnly = isLocalOnly
  }
}

/// The merge rules of an entity: its rows of `SyncedEntity` and `SyncedColumn`.
public struct MergeRules: Hashable, Sendable {
  /// The policy for fields that both sides changed.
  public var policy: ConflictPolicy
  /// The rules of fields, by column name.
  public var fields: [String: FieldRule]

  /// Creates the rules of an entity. A field without a rule has the default rule.
  public init(policy: ConflictPolicy, fields: [String: FieldRule] = [:]) {
    self.policy = policy
    self.fields = fields
  }

  /// The rule of a field.
  public subscript(field: String) -> FieldRule { fields[field] ?? FieldRule() }

  /// Returns the fields without device-only ones.
  public func shared(_ fields: SyncObject) -> SyncObject { fields.filter { !self[$0.name].isLocalOnly } }

  /// Returns whether a user entered a state's value of a field, according to the rules.
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
