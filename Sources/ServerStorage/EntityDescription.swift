import SyncModel

/// The facts about an entity that the server needs to decide about an operation.
public struct EntityDescription: Sendable {
  /// The type, such as `AtmosphericLog`.
  public let type: String
  /// The schema that declares it.
  public let schemaName: String
  /// How two versions of a record become one.
  public let rules: MergeRules
  /// The fields that reference another record.
  public let references: [String: Reference]
  /// Whether records have `userEditedFields`.
  public let hasUserEdits: Bool
  /// The columns that do not always count in digests.
  public let digestColumns: DigestColumns
  /// Returns the problem of a field's value; `nil` if it has the type of the field.
  public let problem: @Sendable (_ field: String, _ value: SyncValue) -> String?

  /// A reference to another record.
  public struct Reference: Hashable, Sendable {
    /// The referenced entity.
    public let entityType: String
    /// Whether a deletion of the referenced record deletes this record.
    public let cascades: Bool

    /// A reference from its parts.
    public init(entityType: String, cascades: Bool) {
      self.entityType = entityType
      self.cascades = cascades
    }
  }

  /// A description from its parts.
  public init(
    type: String, schemaName: String, rules: MergeRules, references: [String: Reference], hasUserEdits: Bool,
    digestColumns: DigestColumns = DigestColumns(),
    problem: @escaping @Sendable (_ field: String, _ value: SyncValue) -> String?
  ) {
    self.type = type
    self.schemaName = schemaName
    self.rules = rules
    self.references = references
    self.hasUserEdits = hasUserEdits
    self.digestColumns = digestColumns
    self.problem = problem
  }
}

/// A schema of a server.
public struct ServedSchema: Hashable, Sendable {
  /// The name of the schema.
  public let name: String
  /// The number of its newest file.
  public let version: Int

  /// A schema.
  public init(name: String, version: Int) { (self.name, self.version) = (name, version) }
}
