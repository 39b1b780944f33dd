import Foundation
import TestSupport
import Testing

/// `undelete` with a server, as a user types it.
@Suite(.serialized) struct UndeleteCommandTests {
  private let work: SyncWorkshop
  private let project: String
  private let room: String
  private var shop: Workshop { work.shop }

  init() throws {
    work = try SyncWorkshop()
    project = try work.put("a.vault", "Project", "title=14 Elm Street")
    room = try work.put("a.vault", "Room", "title=Attic", "projectId=\(project)")
    try work.sync("a.vault")
    try work.sync("b.vault")
  }

  private func undelete(_ words: String..., vault: String = "a.vault") throws -> Ran {
    try shop.run(["undelete"] + words, vault: vault)
  }

  /// Deletes the project, and sends the deletion.
  private func lose() throws {
    let deleted = try shop.done("delete", "Project", project, "--yes", vault: "a.vault")
    #expect(deleted.errors.contains("To restore: fieldvault undelete Project \(project)"), "\(deleted.errors)")
    try work.sync("a.vault")
    try work.sync("b.vault")
    #expect(try shop.count("OfflineProject", vault: "a.vault") == 0)
  }

  @Test(
    "A record that a sync has removed is restored from the server, and its dependents with the next sync, on both devices"
  )
  func afterSync() throws {
    for vault in ["a.vault", "b.vault"] {
      try lose()
      let ran = try undelete("Project", project, vault: vault)
      #expect(ran.status == 0 && ran.output == "Restored 1 Project.\n", "\(ran)")
      #expect(ran.errors.contains("The next sync restores the dependents that were deleted with it."), "\(ran.errors)")
      #expect(try work.value("title", "Project", project, vault) == "14 Elm Street")
      for vault in [vault, "a.vault", "b.vault"] { try work.sync(vault) }
      for vault in ["a.vault", "b.vault"] {
        #expect(try work.value("title", "Room", room, vault) == "Attic")
        #expect(try work.sync(vault, "--full")["repaired"] as? Int ?? 0 == 0)
      }
    }
  }

  @Test("--json tells how many records were restored, how many came from the server, and whether dependents follow")
  func json() throws {
    try lose()
    let fetched = try undelete("Project", project, "--json").object()
    #expect(fetched["restored"] as? Int == 1 && fetched["fetched"] as? Int == 1)
    #expect(fetched["dependentsFollow"] as? Bool == true)
    try work.sync("a.vault")
    try shop.done("delete", "Project", project, "--yes", vault: "a.vault")
    let local = try undelete("Project", project, "--json").object()
    #expect(local["restored"] as? Int == 2 && local["fetched"] as? Int == 0)
    #expect(local["dependentsFollow"] as? Bool == false)
  }

  @Test("What cannot be restored is an error with its reason and exit code, and changes nothing")
  func refusals() throws {
    try lose()
    let vault = "a.vault"
    let before = try shop.content(vault: vault)
    func expect(_ status: Int32, _ text: String, _ ran: Ran) throws {
      #expect(ran.status == status && ran.errors.contains(text), "\(ran.status) \(ran.errors)")
      #expect(try shop.content(vault: vault) == before)
      #expect(try shop.done("outbox", "list", "--json", vault: vault).rows().isEmpty)
    }
    try expect(10, "undelete Project \(project)", undelete("Room", room))
    try expect(
      4, "neither this vault nor its server has the Project \(Workshop.nobody)",
      undelete("Project", project, Workshop.nobody))
    try shop.done("config", "set", "projects", Workshop.project, vault: vault)
    try expect(10, "does not follow", undelete("Project", project))
    try shop.done("config", "set", "projects", "all", vault: vault)
    try shop.done("config", "set", "mode", "device", vault: vault)
    try expect(7, "device-only mode", undelete("Project", project))
    try shop.done("config", "set", "mode", "cloud", vault: vault)
    try shop.write("fv_wrong\n", to: "wrong")
    try shop.done("remote", "set", work.url, "--token-file", shop.path("wrong"), "--no-check", "-q", vault: vault)
    try expect(11, "does not accept the token", undelete("Project", project))
    try shop.done("remote", "set", work.url, "--token-file", shop.path("token-a.vault"), "-q", vault: vault)
    try work.stop()
    try expect(7, "cannot be reached", undelete("Project", project))
    try shop.done("remote", "unset", "-q", vault: vault)
    try expect(4, "no server to fetch it from", undelete("Project", project))
  }

  @Test("With an existing REST API only records whose rows are in the vault are restored")
  func existingAPI() throws {
    let shop = try Workshop(vault: false)
    try shop.done("init", "--schema", "range", "--quiet")
    let routes = packagePath("Schema/range/routes.json")
    try shop.done(
      "remote", "set", "http://127.0.0.1:9", "--routes", routes, "--token-file", "-", "--no-check", "-q",
      input: "fv_token\n")
    let ran = try shop.run("undelete", "Session", Workshop.nobody)
    #expect(ran.status == 4 && ran.errors.contains("its server keeps no deleted records"), "\(ran)")
  }

  @Test("A record that was never sent cannot be restored after a sync, and 'delete' says so")
  func neverSent() throws {
    let hall = try work.put("a.vault", "Room", "title=Hall", "projectId=\(project)")
    let deleted = try shop.done("delete", "Project", project, "--yes", vault: "a.vault")
    #expect(
      deleted.errors.contains("To restore, before the next sync: fieldvault undelete Project \(project)"),
      "\(deleted.errors)")
    #expect(try undelete("Project", project).output == "Restored 1 Project and 2 dependents.\n")
    try shop.done("delete", "Room", hall, vault: "a.vault")
    try work.sync("a.vault")
    let gone = try undelete("Room", hall)
    #expect(gone.status == 4 && gone.errors.contains("neither this vault nor its server"), "\(gone.errors)")
  }

  @Test("A vault whose server was restored has to sync before it restores a record")
  func newEpoch() throws {
    try lose()
    try work.stop()
    try work.newEpoch()
    try work.start()
    let ran = try undelete("Project", project)
    #expect(ran.status == 10 && ran.errors.contains("fieldvault sync"), "\(ran)")
    try work.sync("a.vault")
    #expect(try undelete("Project", project).status == 0)
  }
}
