import HTTPServer
import ServerStorage
import SyncModel

/// Requests of users who see only the projects of which they are members.
extension SyncService {
  /// `GET /v1/changes` for such a user: first what the device lacks of projects that the user has gained, then the changes after the
  /// cursor.
  func memberChanges(
    _ call: RouteCall<Member>, _ viewer: Viewer, limit: Int, projects: Set<String>?
  ) async throws -> Response {
    let text = call.request.query["cursor"]
    let entities = storage.entities
    let now = now
    return try await storage.read(call.caller.account) { data in
      let cursor = try text.map { try Cursor($0, for: data) }
      // A device that has read all projects compares what it has.
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
        ChangesPage(
          serverTime: now, epoch: epoch, changes: page.records.map { $0.remote(entities) }, cursor: next.text,
          hasMore: hasMore, remaining: hasMore ? Int64(max(1, page.remaining)) : 0,
          removedProjects: cursor?.members.map { scope.lost(since: $0.followed).sorted() } ?? []
        ).wire)
    }
  }

  /// Returns what such a user is told of: changes of the projects of the user, and of memberships under the names of the user.
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

  /// Returns the contents among some that the user must not learn of: those that only records of other projects reference.
  func hiddenContents(among contents: [String], from member: Member) async throws -> Set<String> {
    let viewer = viewer(member)
    guard viewer.isLimited else { return [] }
    return try await storage.read(member.account) { data in
      let scope = MemberScope(try data.memberships(of: viewer))
      return try Set(contents).filter { content in
        let projects = try data.projects(of: content)
        return !projects.isEmpty && !projects.contains(where: scope.includes)
      }
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
  ///   - projects: those of the request; `nil` for all.
  ///   - scope: those that the user sees; `nil` for all.
  static func part(of projects: Set<String>?, seenBy scope: MemberScope?) -> Set<String>? {
    guard let scope else { return projects }
    return projects?.intersection(scope.projects) ?? scope.projects
  }

  /// Whether the user sees the records of a project, or those without a project.
  func includes(_ project: String?) -> Bool { project.map(projects.contains) ?? true }
}

/// What a push by a user may concern who sees only some projects.
struct MemberGate {
  let viewer: Viewer
  let entities: [String: EntityDescription]
  let storage: any RecordWriting

  /// The operation concerns a project of which the user is no member. It is undone.
  private struct Outside: Error {
    let project: String
  }

  /// Executes an operation if its record, before and after it, and the records that it references belong to projects of the user.
  func admit(
    _ operation: PushOperation, _ body: () throws -> (outcome: PushResult.Outcome, taken: Int)
  ) throws -> (outcome: PushResult.Outcome, taken: Int) {
    guard viewer.isLimited else { return try body() }
    var seen: Set<String> = []
    let located = try storage.located(operation.name)
    if let refusal = try refusal(of: operation.kind, located?.project) { return (refusal, 0) }
    if let project = located?.project { seen.insert(project) }
    // The deletion or restoration of a shared record takes along records that reference it, among them memberships.
    if located != nil, located?.project == nil, operation.kind == .delete || operation.patch.isDeleted == false,
      try storage.concernsOthers(operation.name, viewer)
    {
      return (.rejected(HTTPProblem.noMember.problem), 0)
    }
    if let content = operation.patch.fields.text("contentUuid") {
      let projects = try storage.projects(of: content)
      let isSeen =
        try projects.isEmpty
        || projects.contains { project in
          try project.map { try storage.standing(of: viewer, in: $0) == .member } ?? true
        }
      // A reference would show the file.
      guard isSeen else { return (.rejected(HTTPProblem.noMember.problem), 0) }
    }
    for (name, field) in references(of: operation) {
      guard let project = try storage.located(name)?.project else { continue }
      switch try storage.standing(of: viewer, in: project) {
      case .member: seen.insert(project)
      case .formerMember: return (.rejected(HTTPProblem.noMember.problem), 0)
      case .stranger: return (.conflict(.parentMissing, fields: [field], record: nil), 0)
      }
    }
    do {
      return try storage.attempt {
        var result = try body()
        if let project = try storage.located(operation.name)?.project, !seen.contains(project),
          try storage.standing(of: viewer, in: project) != .member
        {
          throw Outside(project: project)
        }
        result.outcome = try namingNoStranger(result.outcome)
        return result
      }
    } catch is Outside {
      return (.rejected(HTTPProblem.noMember.problem), 0)
    }
  }

  /// Returns the outcome of an operation on a record of a project of which the user is no member; `nil` for other records.
  ///
  /// To a user who was never a member, the outcome is that of an unknown record, except that it cannot be created.
  func refusal(of kind: OperationKind, _ project: String?) throws -> PushResult.Outcome? {
    guard viewer.isLimited, let project else { return nil }
    switch (try storage.standing(of: viewer, in: project), kind) {
    case (.member, _): return nil
    case (.formerMember, _), (.stranger, .create): return .rejected(HTTPProblem.noMember.problem)
    case (.stranger, .update): return .rejected(HTTPProblem.noSuchRecord.problem)
    case (.stranger, .delete): return .accepted(version: 0, serverId: nil)
    }
  }

  private func references(of operation: PushOperation) -> [(name: RecordName, field: String)] {
    (entities[operation.name.entityType]?.references ?? []).compactMap { reference in
      guard reference.targets == nil, let field = reference.fields.first,
        let uuid = operation.patch.fields.text(field)
      else { return nil }
      return (RecordName(reference.entityType, uuid), field)
    }
  }

  /// Leaves out the other record of a conflict if the user does not see it.
  private func namingNoStranger(_ outcome: PushResult.Outcome) throws -> PushResult.Outcome {
    guard case .conflict(let kind, let fields, let record, let other?) = outcome,
      let project = try storage.located(RecordName(other.entityType, other.entityUuid))?.project,
      try storage.standing(of: viewer, in: project) != .member
    else { return outcome }
    return .conflict(kind, fields: fields, record: record)
  }
}

extension HTTPProblem {
  /// The user is no member of the project of a record.
  static let noMember = HTTPProblem(
    403, "Not a member of the project", "a member of the project can add this user", type: ServerProblem.notMember)
  /// An update of an unknown record.
  static let noSuchRecord = HTTPProblem(404, "No such record", "an update does not create a record")
}
