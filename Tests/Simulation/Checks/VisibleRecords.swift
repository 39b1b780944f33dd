import CipherSQL
import HTTPServer
import SQLCipherStorage
import SyncModel
import TestSupport

/// The records that each user may see, computed from the records of the server alone. The server keeps memberships in a table of its
/// own, which this does not read.
struct VisibleRecords {
  /// The entity whose records make a worker a member of a project.
  static let membership = "Crew"
  /// The entity of the records of users.
  static let user = "Worker"

  /// Whether devices are limited to the projects of their users.
  let isLimited: Bool
  /// The project of each record; `nil` for a record without a project.
  private let projects: [String: String?]
  /// The workers of each project.
  private var members: [String: Set<String>] = [:]
  /// The records that each record references.
  private let references: [String: [String]]
  /// Projects that have a membership record.
  private var withMembers: Set<String> = []
  /// The worker of each user.
  private let workers: [String: String]

  /// Reads the state of a server.
  init(_ server: SimulatedServer) throws {
    let directory = try ServerDirectory(in: try server.folder())
    defer { directory.close() }
    isLimited = try directory.listedAccounts().contains(where: \.limitsToMembers)
    workers = Dictionary(
      try directory.users().compactMap { user in user.record.map { (user.name, $0) } }, uniquingKeysWith: { $1 })
    let database = try server.store.open()
    defer { database.close() }
    let (records, crews, removed) = try database.read { connection in
      (
        try connection.fetchRows(
          "SELECT entityUuid, project, fields FROM ServerRecord", as: String.self, String?.self, String.self),
        try connection.fetchRows(
          """
          SELECT json_extract(fields, '$.projectId'), json_extract(fields, '$.workerId'), isDeleted, rootType
          FROM ServerRecord WHERE entityType = \(Self.membership)
          """, as: String?.self, String?.self, Bool.self, String?.self),
        try connection.fetch(
          "SELECT entityUuid FROM ServerRecord WHERE entityType = \(Self.user) AND isDeleted = 1", as: String.self)
      )
    }
    projects = Dictionary(records.map { ($0.0, $0.1) }, uniquingKeysWith: { $1 })
    references = Dictionary(
      try records.map { uuid, _, fields in
        guard case .object(let object) = try SyncValue(parsing: fields) else { return (uuid, []) }
        return (
          uuid,
          object.members.compactMap { member in
            if case .text(let text) = member.value, text.utf8.count == 36 { text } else { nil }
          }
        )
      }, uniquingKeysWith: { $1 })
    for (project, worker, isDeleted, root) in crews {
      guard let project, let worker else { continue }
      // A deleted project keeps its members. Any other deleted record may have come to its project when it was deleted.
      if isDeleted && root != "Project" { continue }
      withMembers.insert(project)
      if removed.contains(worker) { continue }
      members[project, default: []].insert(worker)
    }
  }

  /// Whether a user may see a record.
  /// - Parameter isCreator: whether the user has created a project. The creator is a member of a project until its first
  ///   membership, which may have moved to another project since.
  func mayShow(_ uuid: String, to user: String, isCreator: (_ project: String) -> Bool) -> Bool {
    guard isLimited, let project = projects[uuid] ?? nil else { return true }
    return isMember(user, of: project) || !withMembers.contains(project) && isCreator(project)
  }

  /// Whether a user sees a record and all records that it references, directly or through further records. A device keeps a record for which
  /// it lacks another one in the inbox.
  func mustShow(_ uuid: String, to user: String) -> Bool {
    reachable(from: [uuid]).allSatisfy { uuid in (projects[uuid] ?? nil).map { isMember(user, of: $0) } ?? true }
  }

  /// Returns the records that a user may see and those that they reference, which stay on a device that has had them.
  func mayKeep(_ user: String, isCreator: (_ project: String) -> Bool) -> Set<String> {
    reachable(from: projects.keys.filter { mayShow($0, to: user, isCreator: isCreator) })
  }

  /// Returns the records of projects of which a user is not a member.
  func hidden(from user: String) -> [String] {
    projects.filter { _, project in isLimited && project.map { !isMember(user, of: $0) } ?? false }.map(\.key)
  }

  private func isMember(_ user: String, of project: String) -> Bool {
    workers[user].map { members[project]?.contains($0) == true } ?? false
  }

  private func reachable(from uuids: [String]) -> Set<String> {
    var reached = Set(uuids)
    var open = uuids
    while let uuid = open.popLast() {
      open += references[uuid, default: []].filter { reached.insert($0).inserted }
    }
    return reached
  }
}

/// Checks each response to a limited user: it has no value of a record of another project.
///
/// `@unchecked Sendable` holds because a simulation has one thread.
final class MembershipWatch: @unchecked Sendable {
  /// The facts that the server does not know: the user of a device, the record of each written value, and the users whose devices have sent
  /// the create of a record.
  struct Facts {
    let user: (_ device: String) -> String?
    let record: (_ value: String) -> (entity: String, uuid: String)?
    let creators: (_ uuid: String) -> Set<String>
  }

  let facts: Facts
  private let trace: Trace
  /// The operations that referenced a record that their user did not see, by idempotency key.
  private(set) var referringToHidden: Set<String> = []
  /// The records that each user did not see at the time of a request. They may have left the device of the user, with the
  /// history of their conflicts.
  private(set) var hidden: [String: Set<String>] = [:]
  /// The first violation.
  private(set) var violation: Violation?

  init(_ facts: Facts, _ trace: Trace) { (self.facts, self.trace) = (facts, trace) }

  /// Returns the state before a request; `nil` if the disk of the server fails.
  func state(of server: SimulatedServer) -> VisibleRecords? {
    do { return try VisibleRecords(server) } catch { return nil }
  }

  /// Checks a response.
  /// - Parameter before: the state when the request arrived. Memberships may have changed since.
  func check(
    _ response: Response, to device: String, _ request: Request, before: VisibleRecords?, _ server: SimulatedServer
  ) {
    guard let before, before.isLimited, let user = facts.user(device), let after = state(of: server) else { return }
    hidden[user, default: []].formUnion(before.hidden(from: user) + after.hidden(from: user))
    let isCreator = { self.facts.creators($0).contains(user) }
    if request.path == "/v1/push" {
      for operation in SimulatedNetwork.operations(of: request) {
        let parents = operation.patch.fields.members.compactMap { member in
          if case .text(let text) = member.value, text.utf8.count == 36 { text } else { nil }
        }
        let isHidden = parents.contains {
          !before.mayShow($0, to: user, isCreator: isCreator) || !after.mayShow($0, to: user, isCreator: isCreator)
        }
        if isHidden, let key = operation.idempotencyKey { referringToHidden.insert(key) }
      }
    }
    let values = Self.values(in: response.body)
    guard !values.isEmpty, after.isLimited else { return }
    trace.tally("response to a limited user")
    for value in values {
      guard let record = facts.record(value) else { continue }
      if before.mayShow(record.uuid, to: user, isCreator: isCreator)
        || after.mayShow(record.uuid, to: user, isCreator: isCreator)
      {
        continue
      }
      violation =
        violation
        ?? Violation(11, "a response of \(request.path) to \(device) has \(value) of \(record.entity) \(record.uuid)")
    }
  }

  /// The values in a response that users have written.
  private static func values(in body: [UInt8]) -> Set<String> {
    var values: Set<String> = []
    for part in String(decoding: body, as: UTF8.self).split(separator: Person.markerPrefix).dropFirst() {
      values.insert(Person.markerPrefix + part.prefix { $0.isLetter || $0.isNumber || $0 == "-" })
    }
    return values
  }
}
