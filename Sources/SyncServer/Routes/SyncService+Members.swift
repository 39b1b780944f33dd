import HTTPServer
import ServerStorage
import SyncModel

/// Requests of limited users, who see only the projects of which they are members.
extension SyncService {
  /// Returns the projects of a limited user, and the holders whose memberships concern the user. Changes of both end a wait.
  /// - Returns: `nil` if a membership has changed after the cursor.
  func memberTopics(
    _ account: AccountName, _ viewer: Viewer, _ cursor: Cursor, projects: Set<String>?
  ) async throws -> Set<String>? {
    guard let members = cursor.members, members.viewer == MemberPosition.mark(of: viewer) else {
      throw HTTPProblem.unknownCursor
    }
    let scope = try await storage.read(account) { MemberScope(try $0.memberships(of: viewer)) }
    if members.backlog != nil || scope.hasChanged(since: members.followed) { return nil }
    return (MemberScope.part(of: projects, seenBy: scope) ?? []).union(viewer.holders)
  }

  /// Returns the contents that only records of other projects reference. The user must not learn of them.
  func hiddenContents(among contents: [String], from member: Member) async throws -> Set<String> {
    let viewer = viewer(member)
    guard viewer.isLimited else { return [] }
    return try await storage.read(member.account) { data in
      let scope = MemberScope(try data.memberships(of: viewer))
      return try Set(contents).filter { try MemberScope.hides($0, in: data, showing: scope.includes) }
    }
  }
}

extension RecordReading {
  /// Returns the projects that a user sees; `nil` for all.
  func scope(of viewer: Viewer) throws -> MemberScope? {
    viewer.isLimited ? MemberScope(try memberships(of: viewer)) : nil
  }
}

extension MemberScope {
  /// Returns the projects of a request that a user sees; `nil` for all projects of the account.
  /// - Parameters:
  ///   - projects: the projects of the request; `nil` for all.
  ///   - scope: the projects that the user sees; `nil` for all.
  static func part(of projects: Set<String>?, seenBy scope: MemberScope?) -> Set<String>? {
    guard let scope else { return projects }
    return projects?.intersection(scope.projects) ?? scope.projects
  }

  /// Whether the user sees the records of a project. Every user sees the records without a project.
  func includes(_ project: String?) -> Bool { project.map(projects.contains) ?? true }

  /// Whether a user must not learn of a content: records reference it, and the user sees none of them.
  /// - Parameter isShown: returns whether the user sees the records of a project, or of none.
  static func hides(
    _ content: String, in data: any RecordReading, showing isShown: (String?) throws -> Bool
  ) throws -> Bool {
    let projects = try data.projects(of: content)
    return try !projects.isEmpty && !projects.contains(where: isShown)
  }
}
