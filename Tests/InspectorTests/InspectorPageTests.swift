import CipherSQL
import Foundation
import TestSupport
import Testing

@testable import Inspector
@testable import VaultStore

/// The pages and forms of the inspector.
@Suite(.serialized) struct InspectorPageTests {
  private func links(_ text: String) -> [String] {
    text.matches(of: #/href="(/[^"]*)"/#).map {
      String($0.1).replacing("&amp;", with: "&").replacing("&#39;", with: "'")
    }
  }

  @Test("Every page that a link leads to is shown, and no value of a record becomes markup")
  func everyPage() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    _ = try inspected.makeConflict()
    try inspected.enter()
    var waiting = ["/"]
    var visited: Set<String> = []
    while let path = waiting.popLast() {
      guard visited.insert(path).inserted, visited.count < 400 else { continue }
      let page = try inspected.browser.get(path)
      #expect(page.status == 200, "\(path)")
      guard page.headers["content-type"]?.hasPrefix("text/html") == true else { continue }
      #expect(!page.text.contains("<script") && !page.text.contains("<img src=x"), "\(path)")
      // An input has the unchanged value, so that the form sends it back.
      let shown = page.text.replacing(#/value="[^"]*"/#, with: "")
      #expect(!shown.unicodeScalars.contains { "\u{202E}\u{7}".unicodeScalars.contains($0) }, "\(path)")
      #expect(page.text.components(separatedBy: "<h1>").count == 2)
      waiting += links(page.text)
    }
    let paths = Set(visited.map { $0.prefix { $0 != "?" } })
    #expect(
      paths.isSuperset(of: [
        "/", "/records", "/record", "/search", "/outbox", "/operation", "/conflicts", "/conflict", "/rounds", "/files",
        "/file",
        "/storage", "/keys", "/doctor",
      ]))
  }

  @Test("A record shows its fields, its references in both directions, its operation, and the operations before it")
  func record() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    try inspected.enter()
    let page = try inspected.browser.get("/record?entity=Room&uuid=\(inspected.room.sqlText)").text
    #expect(page.contains("uuid=\(inspected.project.sqlText)"))
    #expect(page.contains("<bdi>Photo</bdi> by <bdi>roomId</bdi>"))
    #expect(page.contains("<h2>Operations</h2>") && page.contains(">create</a>"))
    #expect(page.contains("waits for"))
  }

  @Test("Filters, order, columns and pages of records are in the address")
  func records() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    let entity = try inspected.vault.entities.entity("Note")
    for number in 1...120 {
      _ = try inspected.vault.put(
        entity,
        [
          ("projectId", .text(inspected.project.sqlText)), ("title", .text("n\(number % 3)")),
          ("body", .text("text \(number)")),
        ])
    }
    try inspected.enter()
    let first = try inspected.browser.get("/records?entity=Note&field1=title&is1=equals&value1=n1&show.body=1")
    #expect(first.text.components(separatedBy: "<tr>").count - 2 == 40)
    #expect(
      first.text.contains("text 118") && !first.text.contains("text 119") && !first.text.contains("syncStatus</a>"))
    var page = try inspected.browser.get("/records?entity=Note&order=body&desc=1").text
    var seen = 0
    while true {
      seen += page.components(separatedBy: "<tr>").count - 2
      guard let next = links(page).first(where: { $0.contains("after=") }) else { break }
      page = try inspected.browser.get(next).text
    }
    #expect(seen == 121)
    let csv = try inspected.browser.get("/records?entity=Note&field1=title&is1=equals&value1=n0&show.title=1&as=csv")
    #expect(csv.headers["content-disposition"] == "attachment; filename*=UTF-8''Note.csv")
    #expect(csv.text.components(separatedBy: "\r\n").count == 42)
    #expect(csv.text.hasPrefix("uuid,title\r\n"))
  }

  @Test(
    "A wrong address is explained",
    arguments: [
      ("/records?entity=Rooom", 404, "unknown entity"), ("/record?entity=Room&uuid=7", 400, "'uuid'"),
      ("/record?entity=Room&uuid=01a2018d-005b-7000-b94a-f37cd09dd8f6", 404, "no Room"), ("/record", 400, "'entity'"),
      ("/records?entity=Room&order=colour", 404, "no field"), ("/operation?id=x", 404, "no operation"),
      ("/records?entity=Room&field1=level&is1=like", 400, "'is1'"), ("/nowhere", 404, "no such page"),
      ("/records?entity=Room&field1=squareFootage&is1=equals&value1=big", 422, "squareFootage"),
      ("/conflict?id=x", 404, "no conflict"),
    ])
  func wrongAddresses(_ path: String, _ status: Int, _ text: String) throws {
    let inspected = try InspectedVault()
    try inspected.enter()
    let page = try inspected.browser.get(path)
    #expect(page.status == status)
    #expect(page.text.contains(text.replacing("'", with: "&#39;")), "\(page.text)")
  }

  @Test("A conflict is resolved with a choice for each field, another value, and a note")
  func conflict() throws {
    let inspected = try InspectedVault()
    let conflict = try inspected.makeConflict()
    try inspected.enter()
    let page = try inspected.browser.get("/conflict?id=\(conflict.id)").text
    #expect(page.contains("name=\"choice.title\""))
    let form = [
      "id": conflict.id, "take": "remote", "choice.title": "value", "value.title": "decided é\n", "note": "by phone",
    ]
    let reply = try inspected.browser.post("/conflict/resolve", form)
    #expect(reply.headers["location"] == "/conflicts?done=resolved")
    let entry = try inspected.vault.conflict(conflict.id)
    #expect(entry.notes == "by phone" && entry.resolvedAt != nil && entry.resolvedBy == "inspector")
    let title = try inspected.vault.database.read {
      try $0.fetchOne("SELECT title FROM OfflineProject WHERE uuid = \(conflict.project)", as: String.self)
    }
    #expect(title == "decided é\n")
    // A reload of the form does not decide again.
    #expect(try inspected.browser.post("/conflict/resolve", form).status != 303)
  }

  @Test("The pages of the conflicts have each conflict once, in order")
  func conflictPages() throws {
    let inspected = try InspectedVault()
    let open = try inspected.makeConflict()
    try inspected.vault.database.write { connection in
      for number in 0..<450 {
        try connection.execute(
          """
          INSERT INTO OfflineConflictResolution (conflictId, entityType, entityId, entityUuid, conflictType, localVersion,
            fields, detectedAt, resolvedAt, resolution)
          SELECT \(UUID.version7().sqlText), entityType, 1000 + \(number), \(UUID.version7().sqlText), conflictType,
            localVersion, fields, \("2026-01-01T00:00:0\(number % 5).000Z"), detectedAt, 'remote_wins'
          FROM OfflineConflictResolution WHERE conflictId = \(open.id)
          """)
      }
    }
    try inspected.enter()
    let ids = try inspected.vault.conflicts(resolved: true).map(\.conflictId)
    var (seen, address): ([String], String?) = ([], "/conflicts?all=1")
    while let page = address, seen.count <= ids.count {
      let text = try inspected.browser.get(page).text
      seen += text.matches(of: /\/conflict\?id=([-0-9a-f]+)/).map { String($0.1) }
      address = text.firstMatch(of: #/href="(/conflicts[^"]*after=[^"]*)"/#).map {
        String($0.1.replacing("&amp;", with: "&"))
      }
    }
    #expect(seen == ids && ids.count == 451)
    #expect(try inspected.browser.get("/conflicts").text.contains(open.id))
    #expect(try inspected.browser.get("/conflicts?after=\(open.id)").text.contains("No conflicts."))
    #expect(try inspected.browser.get("/conflicts?after=none").text.contains(open.id))
  }

  @Test("An unknown choice, or a value that the field refuses, changes nothing")
  func badChoices() throws {
    let inspected = try InspectedVault()
    let conflict = try inspected.makeConflict()
    try inspected.enter()
    _ = try inspected.browser.get("/conflict?id=\(conflict.id)")
    for (field, value, status) in [
      ("take", "mine", 400), ("choice.title", "both", 400), ("choice.title", "value", 422),
      ("choice.colour", "local", 422),
    ] {
      var form = ["id": conflict.id, "take": "local", "value.title": " "]
      form[field] = value
      let reply = try inspected.browser.post("/conflict/resolve", form)
      #expect(reply.status == status || reply.status == 404, "\(field) \(value): \(reply.status)")
      #expect(try inspected.vault.conflicts().count == 1, "\(field) \(value)")
    }
  }

  @Test("A failed operation is sent again or discarded by a form")
  func operations() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    try inspected.enter()
    var ids: [String] = []
    try inspected.vault.forEachOperation { if $0.entityType == "Note" { ids.append($0.operationId) } }
    let id = try #require(ids.first)
    try inspected.vault.database.write {
      try $0.execute("UPDATE OfflineSyncQueue SET status = 'failed', errorMessage = 'no' WHERE operationId = \(id)")
    }
    let page = try inspected.browser.get("/operation?id=\(id)").text
    #expect(page.contains("Send again") && page.contains("Discard"))
    #expect(try inspected.browser.get("/outbox?status=failed").text.contains(id))
    #expect(try inspected.browser.post("/outbox/retry", ["id": id]).status == 303)
    #expect(try inspected.vault.operation(id).entry.status == "pending")
    #expect(try inspected.browser.post("/outbox/discard", ["id": id]).headers["location"] == "/outbox?done=removed")
    #expect(throws: VaultError.self) { try inspected.vault.operation(id) }
    #expect(try inspected.browser.post("/outbox/discard", ["id": id]).status == 404)
  }

  @Test("The doctor checks the vault beside the pages, also in a read-only inspector", arguments: [true, false])
  func doctor(isWritable: Bool) throws {
    let inspected = try InspectedVault(isWritable: isWritable)
    try inspected.fill()
    try inspected.enter()
    #expect(try inspected.browser.get("/doctor").text.contains("Check now"))
    #expect(try inspected.browser.get("/").text.contains("not checked yet"))
    #expect(try inspected.browser.post("/doctor/start", [:]).headers["location"] == "/doctor")
    try blockUntil("the check has ended") {
      let page = try inspected.browser.get("/doctor?still=1").text
      return !page.contains("Cancel")
    }
    let page = try inspected.browser.get("/doctor").text
    #expect(page.contains("checked: <bdi>the keyring") && page.contains("Result of"))
    #expect(try inspected.browser.get("/").text.contains("no problems found"))
    // Another page of the vault shows the stored result.
    #expect(try DoctorRun(inspected.vault, []).last()?.endedAt == inspected.vault.environment.now)
  }

  @Test("A check that is cancelled ends without a result")
  func cancelledCheck() throws {
    let inspected = try InspectedVault()
    let checks = DoctorRun(inspected.vault, [])
    checks.start()
    checks.cancel()
    try blockUntil("the check has ended") { checks.state.step == nil }
    #expect(checks.state.last == nil && checks.state.problem == "The check was cancelled.")
  }

  @Test("A thumbnail is a picture, and a file of a user is only saved")
  func files() throws {
    let inspected = try InspectedVault()
    try inspected.fill()
    try inspected.enter()
    let page = try inspected.browser.get("/files").text
    let links = page.matches(of: #/(?:src|href)="(/file\?[^"]*)"/#).map { String($0.1).replacing("&amp;", with: "&") }
    let thumbnail = try inspected.browser.get(try #require(links.first { $0.contains("thumbnail") }))
    #expect(thumbnail.headers["content-type"] == "image/jpeg" && thumbnail.body.starts(with: [0xFF, 0xD8]))
    let file = try inspected.browser.get(try #require(links.first { !$0.contains("thumbnail") }))
    #expect(file.headers["content-type"] == "application/octet-stream")
    #expect(file.headers["content-disposition"] == "attachment; filename*=UTF-8''rocket.jpg")
    #expect(file.body.count > 10_000)
  }
}
