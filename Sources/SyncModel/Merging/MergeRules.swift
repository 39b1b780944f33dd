/// What happens to a field that two sides changed differently, and to an edit against a deletion. The raw values are
/// those of `SyncedEntity.conflictPolicy`.
public enum ConflictPolicy: String, CaseIterable, Sendable {
  /// A person decides.
  case manual
  /// The later edit wins; at the same millisecond the value whose canonical text is greater, a deletion over an edit.
  case lastWriteWins = "last_write_wins"
  case serverWins = "server_wins"
  case clientWins = "client_wins"
  /// The field's owner wins. A field without an owner, and an edit against a deletion, are a conflict.
  case merge
}

/// Whose value wins under ``ConflictPolicy/merge``. The raw values are those of `SyncedColumn.ownership`.
public enum FieldOwnership: String, CaseIterable, Sendable {
  /// A machine at the server makes the values (texts that were extracted); the server's value wins.
  case server
  /// Personal notes and choices; the value of the side that pushes wins, so of two devices the second.
  case user
  /// A machine's value at first, and the person's once the person has edited it (`userEditedFields`).
  case userEdited = "user_edited"
}

/// How one column merges: a row of `SyncedColumn`. A column without a row is an ordinary one.
public struct FieldRule: Hashable, Sendable {
  /// Whose value wins under the policy `merge`; nil where nobody owns the field.
  public var ownership: FieldOwnership?
  /// A JSON array that merges element by element, under every policy. A value that is neither array nor null makes it
  /// an ordinary column for that merge.
  public var mergesAsSet: Bool
  /// Made from other columns and computed again after a merge; never a conflict.
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
  /// Decides about what both sides changed.
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

  /// Fields without those that never leave the device.
  public func shared(_ fields: SyncObject) -> SyncObject { fields.filter { !self[$0.name].isLocalOnly } }

  /// Whether the value that a state has for a field is one that a person entered, as far as the rules tell.
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
