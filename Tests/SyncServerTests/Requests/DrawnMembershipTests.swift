import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// Drawn projects, memberships and edits by several users. Each device has exactly what a simple model of memberships grants its
/// user, however its pulls lie between the changes, and the digests agree.
@Suite(.serialized) struct DrawnMembershipTests {
  /// What the rules grant.
  private struct Model {
    struct Project {
      var creator: String
      var hadMembers = false
      /// The users by membership record.
      var crew: [String: String] = [:]
      var notes: Set<String> = []
    }

    var projects: [String: Project] = [:]

    func isMember(_ user: String, of project: String) -> Bool {
      guard let project = projects[project] else { return false }
      return project.hadMembers ? project.crew.values.contains(user) : project.creator == user
    }

    func visible(to user: String) -> Set<String> {
      var found: Set<String> = []
      for (uuid, project) in projects where isMember(user, of: uuid) {
        found.formUnion([uuid] + project.crew.keys + project.notes)
      }
      return found
    }

    func project(of uuid: String) -> String? {
      projects.first { $0 == uuid || $1.crew[uuid] != nil || $1.notes.contains(uuid) }?.key
    }
  }

  @Test("Devices have what the memberships grant", arguments: MemberServer.Engine.allCases, [1, 2, 3, 4] as [UInt64])
  func drawn(_ engine: MemberServer.Engine, _ seed: UInt64) async throws {
    var random = Seeded(seed)
    let server = try MemberServer(engine)
    let names = ["ada", "ben", "cid", "dan"]
    var clients: [String: TestClient] = [:]
    for name in names { clients[name] = try await server.user(name) }
    var devices = clients.mapValues { MemberDevice($0) }
    var model = Model()
    // Where each record ever was, because its project is unknown to the model once it is deleted.
    var places: [String: String] = [:]
    var refused = 0
    let users = Set(server.records.values)
    for step in 1...80 {
      let user = names.randomElement(using: &random)!
      let client = clients[user]!
      let uuid = newUuid()
      let project = model.projects.keys.sorted().randomElement(using: &random)
      let isMember = project.map { model.isMember(user, of: $0) } ?? false
      let operation: SyncValue
      var change: (inout Model) -> Void = { _ in }
      switch Int.random(in: 0..<10, using: &random) {
      case 0, 1:
        operation = Operation.create("Project", uuid, ["title": "Dam"])
        places[uuid] = uuid
        change = { $0.projects[uuid] = Model.Project(creator: user) }
      case 2...4:
        guard let project else { continue }
        operation = Operation.create("Note", uuid, ["projectId": .text(project), "body": "wet"])
        places[uuid] = project
        change = { $0.projects[project]?.notes.insert(uuid) }
      case 5, 6:
        guard let project, let other = names.randomElement(using: &random),
          model.projects[project]?.crew.values.contains(other) == false
        else { continue }
        operation = server.adding(other, to: project, as: uuid)
        places[uuid] = project
        change = {
          $0.projects[project]?.crew[uuid] = other
          $0.projects[project]?.hadMembers = true
        }
      case 7:
        guard let project, let member = model.projects[project]?.crew.keys.sorted().randomElement(using: &random) else {
          continue
        }
        operation = Operation.delete("ProjectCrew", member, version: 1)
        change = { $0.projects[project]?.crew[member] = nil }
      case 8:
        guard let project, let note = model.projects[project]?.notes.sorted().randomElement(using: &random) else {
          continue
        }
        operation = Operation.update("Note", note, ["body": .text("dry \(step)")], version: 1)
      default:
        guard let project, let note = model.projects[project]?.notes.sorted().randomElement(using: &random) else {
          continue
        }
        operation = Operation.delete("Note", note, version: 1)
        change = { $0.projects[project]?.notes.remove(note) }
      }
      let result = try await client.results([operation])
      let isNew = operation["entityType"] == "Project"
      if isNew || isMember {
        #expect(["accepted", "merged"].contains(result[0]), "seed \(seed), step \(step): \(operation)")
        change(&model)
      } else {
        refused += 1
        if operation["operationType"] != "delete" || result != ["accepted"] {
          #expect(
            result[0].hasPrefix("rejected") || result[0].hasPrefix("conflict parent_missing"),
            "seed \(seed), step \(step): \(result) of \(operation)")
        }
      }
      // Some devices pull now, in small pages.
      for name in names where Int.random(in: 0..<3, using: &random) == 0 {
        let limit = Int.random(in: 1...8, using: &random)
        try await devices[name]?.pull(limit: limit) { places[$0] }
        let expected = model.visible(to: name).union(users)
        try #require(devices[name]?.uuids == expected, "seed \(seed), step \(step), \(name)")
        let digests = try await clients[name]!.get("/v1/digests")
        let members = Set(model.projects.keys.filter { model.isMember(name, of: $0) })
        #expect(digests.list("memberProjects") == members.sorted().map { .text($0) })
        var count = 0
        for entity in ["Project", "ProjectCrew", "Note", "User"] {
          if case .integer(let number)? = digests["entities", entity, "count"] { count += Int(number) }
        }
        #expect(count == expected.count, "seed \(seed), step \(step), \(name)")
      }
    }
    #expect(refused > 5, "seed \(seed) draws too few refusals")
    await server.stop()
  }
}
