import CipherSQL
import Foundation
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// Operations and files of limited users that concern records outside their projects.
@Suite(.serialized) struct MemberGateTests {
  private static let engines = MemberServer.Engine.allCases

  private func text(_ value: SyncValue?) -> String { if case .text(let text)? = value { text } else { "" } }

  @Test("A record that names a content of another project is refused")
  func namedContent() async throws {
    let server = try MemberServer(.folder)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (theirs, _) = try await server.makeProject(by: ada)
    let (own, _) = try await server.makeProject(by: eve)
    let (content, loose) = (newUuid(), newUuid())
    func photo(_ project: String, _ content: String) -> SyncValue {
      Operation.create(
        "Photo", newUuid(),
        [
          "projectId": .text(project), "fileName": "a.jpg", "mimeType": "image/jpeg", "fileSize": 1_000,
          "contentUuid": .text(content),
        ])
    }
    #expect(try await ada.results([photo(theirs, content)]) == ["accepted"])
    try await FileClient(ada).upload(bytes(1_000), as: content)
    #expect(try await eve.results([photo(own, content)]) == ["rejected 403"])
    #expect(try await eve.results([photo(own, loose), photo(own, loose)]) == ["accepted", "accepted"], "her own")
    #expect(try await FileClient(eve).request("GET", "/v1/files/\(content)/full").status == 404)
    await server.stop()
  }

  @Test("A shared record on which records of other projects depend is not deleted or restored", arguments: engines)
  func sharedRecords(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (project, all) = try await server.makeProject(by: ada)
    let crew = newUuid()
    #expect(try await ada.results([server.adding("ada", to: project, as: crew)]) == ["accepted"])
    let record = server.records["ada"] ?? ""
    #expect(try await eve.results([Operation.delete("User", record, version: 1)]) == ["rejected 403"])
    #expect(try await ada.pull().changes.contains { $0["entityUuid"] == .text(crew) })
    // What only concerns own projects is allowed, and so is a record on which none depends.
    let property = newUuid()
    #expect(
      try await eve.results([
        Operation.create("Property", property, ["address": "Harbour Street 12"]),
        Operation.delete("Property", property, version: 1),
      ]) == ["accepted", "accepted"])
    #expect(try await eve.results([Operation.delete("User", server.records["eve"] ?? "", version: 1)]) == ["accepted"])

    // The office ends the membership of ada with her record. Her token does not bring it back.
    #expect(try await server.office.results([Operation.delete("User", record, version: 1)]) == ["accepted"])
    let restoration = Operation.update("User", record, [:], version: 2, isDeleted: false)
    #expect(try await ada.results([restoration]) == ["rejected 403"])
    #expect(Set(try await ada.pull().changes.map { text($0["entityUuid"]) }).isDisjoint(with: all))
    #expect(try await server.office.results([restoration]) == ["accepted"])
    #expect(Set(try await ada.pull().changes.map { text($0["entityUuid"]) }).isSuperset(of: all))
    await server.stop()
  }

  @Test("A content of another project is like one that does not exist, and is not taken")
  func contents() async throws {
    let server = try MemberServer(.folder)
    let (ada, eve) = (try await server.user("ada"), try await server.user("eve"))
    let (project, _) = try await server.makeProject(by: ada)
    let (content, unknown, loose) = (newUuid(), newUuid(), newUuid())
    let fields: SyncObject = [
      "projectId": .text(project), "fileName": "a.jpg", "mimeType": "image/jpeg", "fileSize": 1_000,
      "contentUuid": .text(content),
    ]
    #expect(try await ada.results([Operation.create("Photo", newUuid(), fields)]) == ["accepted"])
    let (owner, stranger) = (FileClient(ada), FileClient(eve))
    try await owner.upload(bytes(1_000), as: content)
    try await owner.upload(bytes(1_000), as: loose)

    for variant in ["full", "thumbnail"] {
      for method in ["GET", "HEAD"] {
        let (hidden, none) = (
          try await stranger.request(method, "/v1/files/\(content)/\(variant)"),
          try await stranger.request(method, "/v1/files/\(unknown)/\(variant)")
        )
        #expect(hidden.status == 404 && hidden.body == none.body)
      }
    }
    func told(_ route: String, _ client: FileClient) async throws -> SyncValue {
      let response = try await client.request(
        "POST", "/v1/files/\(route)", ["Content-Type": "application/json", "Tus-Resumable": "-"],
        body: Array(#"{"files": ["\#(content)/full", "\#(unknown)/full", "\#(loose)/full"]}"#.utf8))
      return try SyncValue(parsing: response.body)
    }
    #expect(try await told("missing", stranger) == ["missing": [.text("\(content)/full"), .text("\(unknown)/full")]])
    #expect(try await told("missing", owner) == ["missing": [.text("\(unknown)/full")]])
    #expect(try await told("digests", stranger)["files"]?["\(content)/full"] == nil)
    #expect(try await told("digests", owner)["files"]?["\(content)/full"] != nil)
    let begun = try await stranger.begin(10, as: content, "thumbnail")
    #expect(begun.status == 422 && begun.type == ServerProblem.notMember)
    #expect(try await owner.begin(10, as: content, "thumbnail").status == 201)

    #expect(try await ada.results([server.adding("eve", to: project)]) == ["accepted"])
    #expect(try await stranger.request("GET", "/v1/files/\(content)/full").body == bytes(1_000))
    await server.stop()
  }

  @Test("A default does not bring a record into a project of others")
  func defaults() async throws {
    let project = "00000000-0000-7000-8000-000000000001"
    let schema = Schema(
      name: "own",
      migrations: [
        MigrationFile(
          version: 1, name: "items",
          sql: SyncedTable.sql("Project", "title TEXT", schema: "own")
            + SyncedTable.sql("Person", "email TEXT", schema: "own")
            + SyncedTable.sql(
              "Crew",
              "projectId INTEGER NOT NULL REFERENCES Project (id), personId INTEGER NOT NULL REFERENCES Person (id)",
              schema: "own")
            + SyncedTable.sql(
              "Item", "title TEXT, projectUuid TEXT NOT NULL DEFAULT '\(project)' REFERENCES Project (uuid)",
              schema: "own")
              + """
              INSERT INTO SyncedMembership (entityType, userColumn) VALUES ('Crew', 'personId');
              INSERT INTO Project (uuid, title) VALUES ('\(project)', 'Common');
              """)
      ])
    let server = try MemberServer(.folder, schema: schema)
    let (ada, eve) = (try await server.user("ada", type: "Person"), try await server.user("eve", type: "Person"))
    func item() -> SyncValue { Operation.create("Item", newUuid(), ["title": "Fan"]) }
    #expect(try await eve.results([item()]) == ["accepted"], "a project of the schema is open until it has members")
    let member: SyncObject = ["projectId": .text(project), "personId": .text(server.records["ada"] ?? "")]
    #expect(try await server.office.results([Operation.create("Crew", newUuid(), member)]) == ["accepted"])
    #expect(try await eve.results([item()]) == ["rejected 403"])
    #expect(try await ada.results([item()]) == ["accepted"])
    #expect(try await server.office.pull().changes.count { $0["entityType"] == "Item" } == 2)
    await server.stop()
  }
}
