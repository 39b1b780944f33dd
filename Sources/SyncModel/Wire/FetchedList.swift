/// The fetch of a list of records, for the age of the records.
public struct FetchedList: Equatable, Sendable {
  /// The entity.
  public var entityType: String
  /// Whether all of it came.
  public var isWhole: Bool
  /// The part that could not be read, for the user, or `nil`.
  public var problem: String?

  /// A list.
  public init(entityType: String, isWhole: Bool, problem: String? = nil) {
    (self.entityType, self.isWhole, self.problem) = (entityType, isWhole, problem)
  }
}
