/// Records that are not at a server any more, found out while something else was sent there.
public struct RemoteDeletions: Equatable, Sendable {
  /// The record that was deleted there; `nil` if its deletion was handled already.
  public var root: RemoteRecord?
  /// Its dependents, which were deleted with it.
  public var followers: [RemoteRecord]

  /// Creates deletions from records that are marked as deleted.
  public init(root: RemoteRecord?, followers: [RemoteRecord]) { (self.root, self.followers) = (root, followers) }
}
