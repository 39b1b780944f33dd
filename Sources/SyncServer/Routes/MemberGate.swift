import HTTPServer
import ServerStorage
import SyncModel

/// Keeps the operations of a limited user within the projects of which the user is a member.
struct MemberGate {
  let viewer: Viewer
  let entities: [String: EntityDescription]
  let storage: any RecordWriting

  /// The operation would bring its record into a project of which the user is no member. Its changes are undone.
  private struct Outside: Error {}

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
    // A record that names a content shows its file.
    if let content = operation.patch.fields.text("contentUuid"),
      try MemberScope.hides(content, in: storage, showing: { try $0.map(isMember(of:)) ?? true })
    {
      return (.rejected(HTTPProblem.noMember.problem), 0)
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
          try !isMember(of: project)
        {
          throw Outside()
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

  private func isMember(of project: String) throws -> Bool {
    try storage.standing(of: viewer, in: project) == .member
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
      try !isMember(of: project)
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
