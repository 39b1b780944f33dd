import RecordStore
import SyncModel

/// The memberships that follow from the records of an account: a membership record makes the user whose record it references a
/// member of its project. Until a project has its first one, the creator of the project is its member.
extension AccountWriter {
  /// Replaces a row, with the memberships that follow from it.
  /// - Parameter stored: the row before this change; `nil` for a new record, and for one whose memberships have to be found
  ///   again.
  func put(_ row: RecordRow?, of name: RecordName, over stored: RecordRow?) throws {
    state.set(row, of: name, over: stored)
    if name.entityType == ProjectPaths.projectType {
      if row == nil { state.forgetProject(name.entityUuid) }
      if let row, stored == nil { try addCreator(of: row) }
    } else if let column = map.memberColumns[name.entityType] {
      try follow(row, over: stored, column)
    }
  }

  /// Makes the creator of a new project its member. If nobody knows the creator, all users are members.
  private func addCreator(of project: RecordRow) throws {
    let uuid = project.name.entityUuid
    guard try memberships(of: uuid, holders: []).isEmpty else { return }
    let holder = sender.map { Membership.holder(userId: $0.userId) } ?? Membership.everyone
    state.set(
      Membership(
        Membership.Key(source: uuid, holder: holder, project: uuid), isMember: true, sequence: project.record.sequence))
  }

  private func follow(_ row: RecordRow?, over stored: RecordRow?, _ column: String) throws {
    func key(_ row: RecordRow) -> Membership.Key? {
      guard let project = row.project, let user = row.record.state.fields.text(column) else { return nil }
      return Membership.Key(source: row.name.entityUuid, holder: Membership.holder(record: user), project: project)
    }
    let sequence = row?.record.sequence ?? lastSequence
    let (before, after) = (stored.flatMap(key), row.flatMap(key))
    if let before, before != after { try set(before, isMember: false, at: sequence) }
    guard let row, let after else { return }
    let counts = try counts(row, in: after.project)
    try set(after, isMember: counts, at: sequence)
    if counts { try endCreatorsMembership(of: after.project, at: sequence) }
  }

  /// Whether a membership record makes its user a member. One that was deleted with the project does, so that the members learn
  /// of the deletion.
  private func counts(_ row: RecordRow, in project: String) throws -> Bool {
    guard row.record.state.isDeleted else { return true }
    guard row.isCascaded, let root = row.record.deletedWith else { return false }
    let name = RecordName(ProjectPaths.projectType, project)
    guard let above = try self.row(name), above.record.state.isDeleted else { return false }
    return root == name || above.record.deletedWith == root
  }

  private func set(_ key: Membership.Key, isMember: Bool, at sequence: Int64) throws {
    try loadMemberships(of: [key.project], holders: [key.holder])
    let stored = loadedMemberships[key]
    let current = state.changes.memberships[key] ?? stored
    guard isMember != (current?.isMember ?? false) else { return }
    // A membership that is as it was before the transaction has not changed.
    if let stored, stored.isMember == isMember { return state.set(stored) }
    state.set(Membership(key, isMember: isMember, sequence: sequence))
  }

  private func endCreatorsMembership(of project: String, at sequence: Int64) throws {
    let creators = try memberships(of: project, holders: []).filter(\.key.isCreators)
    // Memberships that are found again do not show which projects were open before.
    let end = isRebuilding ? Membership.neverBegun : sequence
    for membership in creators { try set(membership.key, isMember: false, at: end) }
    guard creators.isEmpty else { return }
    // The project comes after its membership records when memberships are found again.
    let key = Membership.Key(source: project, holder: Membership.everyone, project: project)
    state.set(Membership(key, isMember: false, sequence: Membership.neverBegun))
  }

  // MARK: Reading

  /// Reads the memberships that the memberships of some rows depend on.
  func loadMemberships(of rows: [RecordRow]) throws {
    var (projects, holders): (Set<String>, Set<String>) = ([], [])
    for row in rows {
      if row.name.entityType == ProjectPaths.projectType { projects.insert(row.name.entityUuid) }
      guard let column = map.memberColumns[row.name.entityType], let project = row.project else { continue }
      projects.insert(project)
      if let user = row.record.state.fields.text(column) { holders.insert(Membership.holder(record: user)) }
    }
    try loadMemberships(of: projects, holders: holders.sorted())
  }

  package func standing(of viewer: Viewer, in project: String) throws -> Standing {
    guard viewer.isLimited else { return .member }
    let holders = viewer.holders
    let found = try memberships(of: project, holders: holders).filter { holders.contains($0.key.holder) }
    return Standing(try map.effective(found, of: viewer) { try row($0) })
  }

  package func memberships(of viewer: Viewer) throws -> [Membership] { try reader.memberships(of: viewer) }

  package func projects(of content: String) throws -> Set<String?> {
    try map.attachments.reduce(into: []) { projects, attachment in
      let value = ReferenceValue(
        entityType: attachment.entity.type, reference: EntityMap.contentReference, target: content)
      for name in try dependents(value, after: nil, limit: .max) {
        if let row = try row(name) { projects.insert(row.project) }
      }
    }
  }

  /// The number of dependents that are examined before a change of a record is refused.
  private static let mostExamined = 100

  package func concernsOthers(_ name: RecordName, _ viewer: Viewer) throws -> Bool {
    guard viewer.isLimited else { return false }
    var seen: Set<RecordName> = [name]
    var open = [name]
    while let next = open.popLast() {
      for reference in map.dependents[next.entityType] ?? [] {
        let left = Self.mostExamined - seen.count
        let some = try dependents(of: next, by: reference, after: nil, limit: left + 1)
        if some.count > left { return true }
        for other in some where seen.insert(other).inserted {
          if let project = try row(other)?.project, try standing(of: viewer, in: project) != .member { return true }
          open.append(other)
        }
      }
    }
    return false
  }

  package var hasMembershipChanges: Bool { !state.changes.memberships.isEmpty }

  /// Returns the memberships of some holders in a project, and that of its creator.
  private func memberships(of project: String, holders: [String]) throws -> [Membership] {
    try loadMemberships(of: [project], holders: holders)
    var found = loadedMemberships.filter { $0.key.project == project }
    for (key, membership) in state.changes.memberships where key.project == project { found[key] = membership }
    return found.values.filter { $0.key.isCreators || holders.contains($0.key.holder) }
  }
}
