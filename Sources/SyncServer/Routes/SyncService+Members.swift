import HTTPServer
import ServerStorage
import SyncModel

/// Requests of limited users, who see only the projects of which they are members.
extension SyncService {
  /// Responds to `GET /v1/changes` of a limited user: first with the older records of projects that the user has gained, then with
  /// the changes after the cursor.
  func memberChanges(
    _ call: RouteCall<Member>, _ viewer: Viewer, limit: Int, projects: Set<String>?
  ) async throws -> Response {
    let text = call.request.query["cursor"]
    let now = now
    return try await storage.read(call.caller.account) { data in
      let cursor = try text.map { try Cursor($0, for: data) }
      // A device that has read all projects, or those of another user, compares its records.
      let mark = MemberPosition.mark(of: viewer)
      guard cursor == nil || cursor?.members?.viewer == mark else { throw HTTPProblem.unknownCursor }
      let scope = MemberScope(try data.memberships(of: viewer))
      let part = MemberScope.part(of: projects, seenBy: scope) ?? []
      let (epoch, last) = (try data.epochs.current, try data.lastSequence)
      let position = cursor?.position ?? ChangePosition(epoch: epoch, sequence: 0, floor: last)
      let page: ChangePage
      var next: Cursor
      if let cursor, var members = cursor.members, var backlog = members.backlog {
        page = try data.earlierChanges(
          of: scope.gained(since: backlog.since).intersection(part), in: backlog.after...backlog.until, limit: limit)
        backlog.after = page.end
        members.backlog = page.remaining > 0 ? backlog : nil
        next = cursor
        next.members = members
      } else {
        page = try data.changes(
          after: cursor?.position.sequence, limit: limit, projects: part, counted: cursor?.remaining)
        next = Cursor(
          ChangePosition(epoch: epoch, sequence: page.end, floor: position.floor),
          remaining: page.remaining > 0 ? page.remaining : nil, members: MemberPosition(viewer: mark, followed: last))
        if let cursor, let before = cursor.members, !scope.gained(since: before.followed).isDisjoint(with: part) {
          next.members?.backlog = .init(since: before.followed, after: 0, until: cursor.position.sequence)
        }
      }
      let hasMore = next.members?.backlog != nil || next.position.sequence < last
      return .json(
        try ChangesPage(
          serverTime: now, epoch: epoch, changes: [], cursor: next.text, hasMore: hasMore,
          remaining: hasMore ? Int64(max(1, page.remaining)) : 0,
          removedProjects: cursor?.members.map { scope.lost(since: $0.followed).sorted() } ?? []
        ).json(with: page.records.map(\.content)))
    }
  }

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
