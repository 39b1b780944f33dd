/// The epochs of an account's data, oldest first; the last one is current.
///
/// A record that changed in an epoch keeps the version that it had when the epoch began. These versions determine how
/// far a device of an older epoch shares the server's history of the record.
public struct EpochHistory: Equatable, Sendable {
  /// The epochs, oldest first.
  public var epochs: [String]

  /// Creates a history of at least one epoch.
  public init(epochs: [String]) { self.epochs = epochs }

  /// The current epoch.
  public var current: String { epochs.last ?? "" }

  /// Returns the highest version of a record that an epoch shares with the current one; `nil` for an unknown epoch.
  /// - Parameters:
  ///   - version: the record's current version.
  ///   - startVersions: the version at the beginning of each epoch, by its place in ``epochs``, for each epoch in which
  ///     the record changed; 0 for the epoch in which it was created.
  public func sharedVersion(of version: Int64, startVersions: [Int: Int64], with epoch: String?) -> Int64? {
    guard let epoch, let place = epochs.lastIndex(of: epoch) else { return nil }
    return startVersions.filter { $0.key > place }.min { $0.key < $1.key }?.value ?? version
  }

  /// Returns the version up to which the base of an operation is known to be the server's. `nil` if the base belongs to
  /// an unknown epoch or is newer than the record.
  public func trustedBase(
    _ baseVersion: Int64, of epoch: String?, version: Int64, startVersions: [Int: Int64]
  ) -> Int64? {
    guard let shared = sharedVersion(of: version, startVersions: startVersions, with: epoch) else { return nil }
    // Within an epoch the server assigns each version, so a base above the record's version is an unnoticed restore.
    guard epoch != current || baseVersion <= version else { return nil }
    return min(baseVersion, shared)
  }
}
