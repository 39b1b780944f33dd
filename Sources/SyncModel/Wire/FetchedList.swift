/// A list of records that a server has given, for the one who wants to know how old they are.
public struct FetchedList: Equatable, Sendable {
  /// The kind of record.
  public var entityType: String
  /// Whether all of it came.
  public var isWhole: Bool
  /// What could not be read of it, for people; nil when there was nothing.
  public var problem: String?

  /// A list.
  public init(entityType: String, isWhole: Bool, problem: String? = nil) {
    (self.entityType, self.isWhole, self.problem) = (entityType, isWhole, problem)
  }
}
