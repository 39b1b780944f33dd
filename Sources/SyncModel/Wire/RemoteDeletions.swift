/// Records that are not at a server any more, found out while something else was sent there.
public struct RemoteDeletions: Equatable, Sendable {
  /// The record that somebody deleted there; nil when that is settled already.
  public var root: RemoteRecord?
  /// What hung on it and is gone with it.
  public var followers: [RemoteRecord]

  /// Gone records, each marked as deleted.
  public init(root: RemoteRecord?, followers: [RemoteRecord]) { (self.root, self.followers) = (root, followers) }
}
