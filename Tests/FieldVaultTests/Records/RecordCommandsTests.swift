import Foundation
import Testing

@Suite
struct RecordCommandsTests {
  @Test("A new vault lists its entities")
  func aNewVaultNamesItsEntities() throws {
    let shop = try Workshop(vault: false)
    let made = try shop.done("init", "--schema", "restoration", "--json").object()
    #expect(made["vault"] as? String == shop.path("v.vault"))
    let entities = try #require(made["entities"] as? [String])
    #expect(Set(["AtmosphericLog", "Project", "Room", "Photo", "Note"]).isSubset(of: entities))
    for entity in entities { #expect(try shop.done("list", entity, "--json").output == "[]\n") }
  }

  @Test("Options may stand before or after the command")
  func optionsStandBeforeOrAfterTheCommand() throws {
    let shop = try Workshop()
    let after = try shop.done("list", "Room", "--json", "--vault", shop.path("v.vault"), vault: "none")
    let before = try shop.done("--json", "--vault", shop.path("v.vault"), "ls", "OfflineRoom", vault: "none")
    #expect(after.output == before.output)
    #expect(try after.rows().count == 1)
  }

  @Test("A record is written and read with any characters")
  func aRecordIsWrittenAndRead() throws {
    let shop = try Workshop()
    let uuid = try shop.done("put", "Project", "title=Ünïcode, \"quoted\" — 水").output.trimmingCharacters(in: .newlines)
    #expect(UUID(uuidString: uuid) != nil)
    let record = try shop.done("get", "Project", uuid, "--json").object()
    #expect(record["title"] as? String == "Ünïcode, \"quoted\" — 水")
    #expect(record["status"] as? String == "active")
    #expect(record["isDeleted"] as? Bool == false)
    #expect(record["projectNumber"] is NSNull)
    #expect(try shop.done("get", "Project", uuid).output.contains("Ünïcode"))
  }

  @Test("put with a UUID changes only the named fields")
  func putWithAUUIDChangesOnlyWhatIsNamed() throws {
    let shop = try Workshop()
    let before = try shop.done("get", "Room", Workshop.room, "--json").object()
    let after = try shop.done("put", "Room", "--uuid", Workshop.room, "title=Loft", "level=3", "--json").object()
    #expect(after["title"] as? String == "Loft")
    #expect(after["level"] as? String == "3")
    for name in ["roomId", "uuid", "projectId", "squareFootage", "createdAt"] {
      #expect("\(before[name] ?? "none")" == "\(after[name] ?? "none")")
    }
    #expect(try shop.count("OfflineRoom") == 1)
    let emptied = try shop.done("put", "Room", "--uuid", Workshop.room, "level=", "--json").object()
    #expect(emptied["level"] is NSNull)
  }

  @Test("A reference may be a UUID or a local id")
  func aReferenceIsAUUIDOrALocalID() throws {
    let shop = try Workshop()
    let local = try shop.done("put", "Room", "title=By id", "projectId=1", "--json").object()
    let global = try shop.done("put", "Room", "title=By uuid", "projectId=\(Workshop.project)", "--json").object()
    #expect(local["projectId"] as? Int == 1)
    #expect(global["projectId"] as? Int == 1)
  }

  @Test("Records from JSON are written all or none")
  func manyRecordsComeFromJSONAllOrNone() throws {
    let shop = try Workshop()
    let good = #"[{"title":"A","projectId":1},{"title":"B","projectId":"\#(Workshop.project)","isAccessible":false}]"#
    let made = try shop.done("put", "Room", "--from", "-", "--json", input: good).rows()
    #expect(made.map { $0["title"] as? String } == ["A", "B"])
    #expect(made.map { $0["isAccessible"] as? Bool } == [true, false])
    let one = try shop.done("put", "Room", "--from", "-", "--json", input: #"{"title":"C","projectId":1}"#).object()
    #expect(one["title"] as? String == "C")
    let bad = #"[{"title":"D","projectId":1},{"title":"E","projectId":1,"squareFootage":-1}]"#
    let refused = try shop.run("put", "Room", "--from", "-", "--json", input: bad)
    #expect(refused.status == 10)
    #expect(refused.errors.contains("element 2"), "\(refused.errors)")
    #expect(refused.errors.contains("squareFootage"), "\(refused.errors)")
    #expect(try shop.count("OfflineRoom") == 4)
  }

  @Test("list filters, orders and limits records")
  func listChoosesOrdersAndCuts() throws {
    let shop = try Workshop()
    let rooms = (1...5).map { #"{"title":"R\#($0)","projectId":1,"level":"\#($0 % 2)"}"# }.joined(separator: ",")
    try shop.done("put", "Room", "--from", "-", input: "[\(rooms)]")
    func titles(_ arguments: String...) throws -> [String?] {
      try shop.run(["list", "Room", "--json"] + arguments).rows().map { $0["title"] as? String }
    }
    #expect(try titles("--where", "level = '1'", "--order", "title:desc") == ["R5", "R3", "R1"])
    #expect(try titles("-o", "level:desc", "-o", "title", "-n", "4") == ["R1", "R3", "R5", "R2"])
    #expect(try titles("--where", "title = 'no; DROP TABLE OfflineRoom'") == [])
    #expect(try titles("--limit", "0") == [])
    #expect(try shop.done("list", "Room").lines.count == 7)
  }

  @Test("One infinite number does not keep the other records from being shown as JSON")
  func infiniteNumber() throws {
    let shop = try Workshop()
    try shop.done("query", "UPDATE OfflineRoom SET squareFootage = 9e999", "--write")
    for arguments in [
      ["list", "Room", "--json"], ["get", "Room", Workshop.room, "--json"], ["export", "Room", "--format", "ndjson"],
    ] {
      let shown = try shop.run(arguments)
      #expect(shown.status == 0 && shown.output.contains("\"squareFootage\":9e999"), "\(arguments): \(shown.errors)")
    }
  }

  @Test("delete can be tried, undone with its dependents, and made final")
  func deletionAndItsReverse() throws {
    let shop = try Workshop()
    let project = Workshop.project
    #expect(try shop.done("delete", "Project", project, "--dry-run", "--json").object()["deleted"] as? Int == 2)
    #expect(try shop.count("OfflineProject WHERE isDeleted = 0") == 1)
    #expect(try shop.run("purge", "Project", project, "--yes").status == 10)
    #expect(try shop.done("delete", "Project", project, "--yes").output == "Deleted 1 Project and 1 dependent.\n")
    #expect(try shop.run("undelete", "Room", Workshop.room).status == 10)
    #expect(try shop.done("undelete", "Project", project, "--json").object()["restored"] as? Int == 2)
    #expect(try shop.count("OfflineRoom WHERE isDeleted = 0") == 1)
    #expect(try shop.run("undelete", "Project", project).status == 10)
    #expect(try shop.run("undelete", "Project", Workshop.nobody).status == 4)
    try shop.done("delete", "Project", project)
    let again = try shop.run("delete", "Project", project, "--yes")
    #expect(again.status == 4 && again.errors.contains("this Project is already deleted"), "\(again.errors)")
    #expect(again.errors.contains("fieldvault undelete Project \(project)"), "\(again.errors)")
    #expect(try shop.done("purge", "Project", project, "--json").object()["purged"] as? Int == 2)
    #expect(try shop.count("OfflineRoom") == 0)
  }

  @Test("At a terminal a deletion of more than one record is asked about, and nothing is deleted without a yes")
  func deletionIsConfirmed() throws {
    let shop = try Workshop()
    func delete(_ arguments: String..., typing text: String) throws -> (ran: Ran, screen: String) {
      try shop.run(["delete"] + arguments, typing: text)
    }
    let project = Workshop.project
    for answer in ["n\n", "\n", "x\n"] {
      let (ran, screen) = try delete("Project", project, typing: answer)
      #expect(ran.status == 1 && screen.contains("Delete 1 Project and 1 dependent? [y/N]"), "\(screen)")
      #expect(try shop.count("OfflineProject WHERE isDeleted = 0") == 1)
    }
    let (purged, question) = try shop.run(["purge", "Project", project], typing: "n\n")
    #expect(purged.status != 0 && question.contains("for good? [y/N]"), "\(question)")
    // One record is deleted at once.
    let (one, _) = try delete("Room", Workshop.room, typing: "")
    #expect(one.status == 0)
    try shop.done("undelete", "Room", Workshop.room)
    for (answer, option) in [("y\n", [String]()), ("", ["--yes"])] {
      let (ran, screen) = try shop.run(["delete", "Project", project] + option, typing: answer)
      #expect(ran.status == 0 && screen.contains("To restore: fieldvault undelete Project \(project)"), "\(screen)")
      #expect(screen.contains("[y/N]") == option.isEmpty)
      try shop.done("undelete", "Project", project)
    }
  }

  @Test("A deletion in a cycle of references is undone from the record that was deleted")
  func undeletingInACycle() throws {
    let shop = try Workshop()
    func put(_ values: String...) throws -> String {
      let made = try shop.run(["put", "Location"] + values + ["--json"])
      return try #require(made.object()["uuid"] as? String, "\(made)")
    }
    let annex = try put("projectId=\(Workshop.project)", "title=annex")
    let wing = try put("projectId=\(Workshop.project)", "title=wing", "parentLocationId=\(annex)")
    _ = try put("--uuid", annex, "parentLocationId=\(wing)")
    #expect(try shop.done("delete", "Location", annex, "--yes", "--json").object()["deleted"] as? Int == 2)
    let refused = try shop.run("undelete", "Location", wing)
    #expect(refused.status == 10 && refused.errors.contains(annex), "\(refused)")
    #expect(try shop.done("undelete", "Location", annex, "--json").object()["restored"] as? Int == 2)
    #expect(try shop.count("OfflineLocation WHERE isDeleted = 0") == 2)
  }

  @Test("Deleting a record marks its dependents as deleted and keeps them")
  func deletingTakesWhatHangsOnItAndKeepsIt() throws {
    let shop = try Workshop()
    #expect(try shop.done("delete", "Project", Workshop.project, "--json").object()["deleted"] as? Int == 2)
    #expect(try shop.done("list", "Room", "--json").rows().isEmpty)
    #expect(try shop.run("get", "Room", Workshop.room).status == 4)
    let kept = try shop.done("list", "Room", "--deleted", "--json").rows()
    #expect(kept.map { $0["isDeleted"] as? Bool } == [true])
    #expect(try shop.done("export", "Room", "--format", "ndjson").output.isEmpty)
    #expect(try shop.done("search", "attic", "--json").rows().isEmpty)
    let again = try shop.run("put", "Room", "--uuid", Workshop.room, "title=Again")
    #expect(again.status == 10)
    #expect(again.errors.contains("was deleted"))
  }

  @Test("search finds words and their beginnings and treats operators as text")
  func searchFindsWordsAndTheirBeginnings() throws {
    let shop = try Workshop()
    try shop.done("put", "Note", "projectId=1", "body=Wet baseboard under the north window")
    let found = try shop.done("search", "wet base", "--json").rows()
    #expect(found.map { $0["entityType"] as? String } == ["Note"])
    #expect((found.first?["snippet"] as? String)?.contains("[baseboard]") == true)
    #expect(try shop.done("search", "attic", "--entity", "Room", "--json").rows().count == 1)
    #expect(try shop.done("search", "attic", "--entity", "Note", "--json").rows().isEmpty)
    for hostile in ["\"unclosed", "x' OR 1 --", "a NEAR(b", "title:*", "'x'", "x*"] {
      #expect(try shop.done("search", hostile, "--json").rows().isEmpty, "\(hostile)")
    }
  }

  @Test("A search without a word is refused", arguments: ["-", "''", "*", " "])
  func aSearchWithoutAWordIsRefused(_ text: String) throws {
    let ran = try Workshop().run("search", text)
    #expect(ran.status == 10)
    #expect(ran.errors.contains("the search text has no word"))
  }

  @Test("query binds parameters and keeps their types")
  func queryBindsParametersAndKeepsTypes() throws {
    let shop = try Workshop()
    let row = try shop.done(
      "query", "SELECT :a AS a, :b AS b, @c AS c, NULL AS d, x'00ff' AS e, isAccessible FROM OfflineRoom", "--json",
      "--param", "a=1", "--param", "b=x' OR 1 --", "--param", "c=1.5"
    ).rows()[0]
    #expect(row["a"] as? Int == 1)
    #expect(row["b"] as? String == "x' OR 1 --")
    #expect(row["c"] as? Double == 1.5)
    #expect(row["d"] is NSNull)
    #expect(row["e"] as? String == "AP8=")
    #expect(row["isAccessible"] as? Bool == true)
  }

  @Test("query writes only with --write")
  func queryWritesOnlyWhereItIsMeant() throws {
    let shop = try Workshop()
    let update = "UPDATE OfflineRoom SET level = '9' RETURNING title"
    #expect(try shop.run("query", update).status == 10)
    #expect(try shop.done("query", update, "--write", "--json").rows()[0]["title"] as? String == "Attic")
    #expect(try shop.done("list", "Room", "--json").rows()[0]["level"] as? String == "9")
    #expect(try shop.done("query", "DELETE FROM OfflineRoom", "--write").output.isEmpty)
    #expect(try shop.count("OfflineRoom WHERE isDeleted = 1") == 1)
  }

  @Test("With --json the output of each command is one JSON document")
  func withJSONStandardOutputIsOneDocument() throws {
    let shop = try Workshop()
    try shop.write("title\nA\n", to: "rooms.csv")
    let commands = [
      ["put", "Project", "title=x", "--json"], ["get", "Room", Workshop.room, "--json"], ["list", "Room", "--json"],
      ["search", "attic", "--json"], ["query", "SELECT 1 AS one", "--json"],
      ["query", "UPDATE OfflineRoom SET level = '1'", "--write", "--json"],
      ["import", "Room", "@rooms.csv", "--set", "projectId=1", "--json"], ["export", "Room", "--format", "json"],
      ["migrate", "status", "--json"], ["migrate", "apply", "--json"], ["migrate", "verify", "--json"],
      ["version", "--json"], ["shell", "--json", "--command", "SELECT title FROM OfflineRoom"],
      ["delete", "Room", Workshop.room, "--json"],
    ]
    for arguments in commands {
      let ran = try shop.run(arguments)
      #expect(ran.status == 0, "\(arguments): \(ran.errors)")
      #expect(throws: Never.self, "\(arguments): \(ran.output)") { try ran.json() }
      #expect(!ran.output.contains("\u{1b}"))
    }
  }

  @Test("With --quiet a successful command prints nothing")
  func quietSaysNothing() throws {
    let shop = try Workshop(vault: false)
    let made = try shop.done("init", "--schema", "restoration", "--quiet")
    #expect(made.output.isEmpty && made.errors.isEmpty)
    let put = try shop.done("put", "Project", "title=x", "-q")
    #expect(put.output.isEmpty && put.errors.isEmpty)
  }

  @Test("Control characters in a record do not reach the terminal")
  func controlCharactersInARecordDoNotReachTheTerminal() throws {
    let shop = try Workshop()
    try shop.done("put", "Room", "--uuid", Workshop.room, "title=a\u{1b}[2Jb\u{7}")
    for arguments in [["list", "Room"], ["get", "Room", Workshop.room], ["query", "SELECT title FROM OfflineRoom"]] {
      let ran = try shop.run(arguments)
      #expect(!ran.output.contains("\u{1b}") && !ran.output.contains("\u{7}"), "\(arguments)")
    }
  }
}
