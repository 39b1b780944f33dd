import HTTPServer
import ServerStorage
import SyncModel

/// A request for a page of the changes that a user sees.
struct ChangesRequest: Sendable {
  let viewer: Viewer
  /// The cursor of the page before; `nil` for all records that are not deleted.
  let cursor: String?
  let limit: Int
  /// Only records of these projects and records without a project; `nil` for all.
  var projects: Set<String>?

  /// A page without its records, the records, and the number of the last change that the user has read with it.
  typealias Page = (page: AccountExportPage, records: [RecordText], position: Int64)

  /// Returns a page for the user.
  /// - Throws: ``HTTPProblem`` with 410 for a cursor from which the server cannot continue.
  func read(_ data: any RecordReading, at now: Int64) throws -> Page {
    try viewer.isLimited ? memberPage(of: data, at: now) : page(of: data, at: now)
  }

  /// Returns a page for a user who sees all projects.
  /// - Throws: ``HTTPProblem`` with 410 for a cursor from which the server cannot continue.
  private func page(of data: any RecordReading, at now: Int64) throws -> Page {
    let cursor = try cursor.map { try Cursor($0, for: data) }
    // A device that has read only some projects compares its records.
    guard cursor?.members == nil else { throw HTTPProblem.unknownCursor }
    let page = try data.changes(
      after: cursor?.position.sequence, limit: limit, projects: projects, counted: cursor?.remaining)
    let epoch = try data.epochs.current
    let floor = try cursor?.position.floor ?? data.lastSequence
    let next = Cursor(
      ChangePosition(epoch: epoch, sequence: page.end, floor: floor),
      remaining: page.remaining > 0 ? page.remaining : nil)
    return Self.counted(
      page,
      ChangesPage(
        serverTime: now, epoch: epoch, changes: [], cursor: next.text,
        hasMore: page.remaining > 0, remaining: Int64(page.remaining)), since: next.position)
  }

  /// Returns a page for a limited user: first the older records of projects that the user has gained, then the changes after the
  /// cursor.
  /// - Throws: ``HTTPProblem`` with 410 for a cursor from which the server cannot continue.
  private func memberPage(of data: any RecordReading, at now: Int64) throws -> Page {
    let cursor = try cursor.map { try Cursor($0, for: data) }
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
    return Self.counted(
      page,
      ChangesPage(
        serverTime: now, epoch: epoch, changes: [], cursor: next.text,
        hasMore: hasMore, remaining: hasMore ? Int64(max(1, page.remaining)) : 0,
        removedProjects: cursor?.members.map { scope.lost(since: $0.followed).sorted() } ?? []),
      since: next.position)
  }

  /// Counts the records that changed after the first page. They are the last ones of a page.
  private static func counted(_ page: ChangePage, _ result: ChangesPage, since start: ChangePosition) -> Page {
    let late = page.records.count { $0.sequence > start.floor }
    return (AccountExportPage(result, late: Int64(late)), page.records.map(\.content), start.sequence)
  }
}
