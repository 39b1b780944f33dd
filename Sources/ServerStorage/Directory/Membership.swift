/// The user who sends a request, as far as it decides which records the user sees.
public struct Viewer: Hashable, Sendable {
  /// The number of the user.
  public let userId: Int64
  /// The UUID of the record of the user, such as a `User`; `nil` if the operator has not connected the user with one.
  public let record: String?
  /// Whether the user sees the records of its own projects only, with records that belong to no project.
  public let isLimited: Bool

  /// Creates a viewer from its parts.
  public init(userId: Int64, record: String? = nil, isLimited: Bool = false) {
    (self.userId, self.record, self.isLimited) = (userId, record, isLimited)
  }

  /// The names under which memberships name the user.
  public var holders: [String] {
    [Membership.everyone, Membership.holder(userId: userId)] + (record.map { [Membership.holder(record: $0)] } ?? [])
  }
}

/// Whether the holder of a name sees the records of a project. A membership that has ended stays, so that the devices of the holder
/// learn of its end.
public struct Membership: Hashable, Sendable {
  /// The identity of a membership.
  public struct Key: Hashable, Sendable {
    /// The UUID of the membership record, or of the project for the membership of its creator.
    public let source: String
    /// The name of the holder: of the record of a user, of a user, or of all users of the account.
    public let holder: String
    /// The UUID of the project.
    public let project: String

    /// Creates a key from its parts.
    package init(source: String, holder: String, project: String) {
      (self.source, self.holder, self.project) = (source, holder, project)
    }

    /// Whether the holder is a member as the creator of the project, or as any user because nobody knows the creator.
    var isCreators: Bool { source == project }
  }

  /// The identity.
  public let key: Key
  /// Whether the holder is a member now.
  public let isMember: Bool
  /// The number of the change with which the membership began or ended.
  public let sequence: Int64

  /// Creates a membership from its parts.
  package init(_ key: Key, isMember: Bool, sequence: Int64) {
    (self.key, self.isMember, self.sequence) = (key, isMember, sequence)
  }

  /// Whether devices may have seen the project by this membership. A project that had members before its memberships were found in
  /// the records was never open.
  var hasEnded: Bool { !isMember && sequence > Self.neverBegun }
  /// The number of a membership that was found to have ended before it was kept.
  static let neverBegun: Int64 = 0

  /// Returns the membership without effect, because the record of its holder is deleted.
  /// - Parameter sequence: the number of the deletion.
  func withoutHolder(since sequence: Int64) -> Membership {
    isMember ? Membership(key, isMember: false, sequence: max(sequence, self.sequence)) : self
  }

  // A notification of changes has these names beside the UUIDs of projects, so they contain neither of its separators, comma and colon.

  /// The name of all users of the account.
  static let everyone = "everyone"
  /// Returns the name of a user who has created a project.
  static func holder(userId: Int64) -> String { "user=\(userId)" }
  /// Returns the name of the user with a record.
  static func holder(record: String) -> String { "record=\(record)" }
}

/// The relation of a user to a project.
public enum Standing: Sendable {
  /// The user is a member.
  case member
  /// The user was a member.
  case formerMember
  /// The user must not learn whether the project exists.
  case stranger

  /// - Parameter memberships: the memberships of the user in the project.
  package init(_ memberships: some Sequence<Membership>) {
    self = .stranger
    for membership in memberships {
      if membership.isMember {
        self = .member
        return
      }
      if membership.hasEnded { self = .formerMember }
    }
  }
}

/// The projects that a user sees, and the changes with which the user gained and lost projects.
public struct MemberScope: Sendable {
  /// The projects of which the user is a member.
  public let projects: Set<String>
  private let memberships: [Membership]

  /// - Parameter memberships: all memberships of the user.
  public init(_ memberships: [Membership]) {
    self.memberships = memberships
    projects = Set(memberships.filter(\.isMember).map(\.key.project))
  }

  /// Returns the projects that the user did not see at the time of a change and sees now.
  /// - Parameter sequence: the number of the change.
  public func gained(since sequence: Int64) -> Set<String> {
    projects.subtracting(memberships.filter { $0.isMember && $0.sequence <= sequence }.map(\.key.project))
  }

  /// Returns the projects that the user may have seen at the time of a change and does not see now.
  public func lost(since sequence: Int64) -> Set<String> {
    Set(memberships.filter { $0.hasEnded && $0.sequence > sequence }.map(\.key.project)).subtracting(projects)
  }

  /// Whether anything changed after a change.
  public func hasChanged(since sequence: Int64) -> Bool { memberships.contains { $0.sequence > sequence } }
}
