/// The writers of the two sides of a merge, as far as they matter: a service fills fields, a user corrects them.
public struct MergeWriters: Equatable, Sendable {
  /// Whether the local side, which pushes, is a service.
  public var isLocalService: Bool
  /// The fields of the remote side whose value a service wrote.
  public var serviceFields: Set<String>

  /// Two devices. A device that merges a pulled version uses this, because the server has already decided about
  /// services.
  public static let devices = MergeWriters(isLocalService: false, serviceFields: [])

  /// Creates the writers of both sides.
  public init(isLocalService: Bool, serviceFields: Set<String>) {
    (self.isLocalService, self.serviceFields) = (isLocalService, serviceFields)
  }

  /// Returns the side whose value a field takes that both sides changed, by its owner; `nil` without an owner.
  func winner(of field: String, _ ownership: FieldOwnership?, listed: Bool) -> MergeSide? {
    switch ownership {
    case nil: nil
    case .server: isLocalService ? .local : .remote
    case .user: isLocalService && !serviceFields.contains(field) ? .remote : .local
    case .userEdited: isLocalService || listed ? .local : .remote
    }
  }
}

/// The fields of a stored record that a writer may change, independent of the version that it has seen.
public struct WriterRules: Sendable {
  /// The role of the writer.
  public let role: TokenRole
  /// The merge rules of the entity.
  public let rules: MergeRules

  /// Creates the rules for a writer.
  public init(role: TokenRole, rules: MergeRules) { (self.role, self.rules) = (role, rules) }

  /// Returns the part of a change that the writer may make, and the fields that keep their stored value, ordered.
  ///
  /// A service never changes a field in the stored `userEditedFields`, and adds no field to it. Under
  /// ``ConflictPolicy/merge`` a device changes a server-owned field only while no service has written it.
  /// - Parameters:
  ///   - stored: the stored record; `nil` for a new one.
  ///   - serviceFields: the fields of the stored record whose value a service wrote.
  public func admitted(
    _ patch: RecordPatch, over stored: RecordState?, serviceFields: Set<String>
  ) -> (patch: RecordPatch, kept: [String]) {
    var patch = patch
    if role == .service { patch.userEditedFields = nil }
    guard let stored else { return (patch, []) }
    let kept = patch.fields.members.filter { member in
      let isHeld =
        role == .service
        ? stored.userEditedFields.contains(member.name)
        : rules.policy == .merge && rules[member.name].ownership == .server && serviceFields.contains(member.name)
      return isHeld && stored.fields[member.name] != member.value
    }.map(\.name)
    patch.fields = patch.fields.filter { !kept.contains($0.name) }
    for field in kept { patch.editTimes[field] = nil }
    return (patch, kept)
  }

  /// Returns the fields whose value a service wrote, after the writer has changed some.
  /// - Parameters:
  ///   - before: the fields before; empty for a new record, and for a record from before roles were stored.
  ///   - changed: the fields that the writer changed.
  public func serviceFields(before: Set<String>, changed: some Sequence<String>) -> Set<String> {
    role == .service ? before.union(changed) : before.subtracting(changed)
  }
}
