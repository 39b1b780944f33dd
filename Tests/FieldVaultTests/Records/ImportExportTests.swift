import Foundation
import Testing

@Suite
struct ImportExportTests {
  private static let mapped = "where,what,size\nCellar,NA,1.5\n\"A, \"\"b\"\"\nc\",wet,NA\n"

  @Test(
    "An import maps columns, sets fields and reads a null word in each format",
    arguments: [
      ("rooms.csv", mapped),
      (
        "rooms.ndjson",
        #"{"where":"Cellar","what":"NA","size":1.5}"# + "\n" + #"{"where":"A, \"b\"\nc","what":"wet","size":"NA"}"#
          + "\n"
      ),
      (
        "rooms.json",
        #"[{"where":"Cellar","what":"NA","size":1.5},"# + #"{"where":"A, \"b\"\nc","what":"wet","size":"NA"}]"#
      ),
    ])
  func columnsAreMappedSetAndLeftOut(_ name: String, _ text: String) throws {
    let shop = try Workshop()
    try shop.write(text, to: name)
    let told = try shop.done(
      "import", "Room", shop.path(name), "--map", "title=where,roomType=what", "--map", "squareFootage=size", "--set",
      "projectId=\(Workshop.project)", "--set", "level=2", "--null", "NA", "--skip-invalid", "--json"
    ).object()
    let rows = try shop.done("list", "Room", "--where", "level = '2'", "--order", "title:desc", "--json").rows()
    #expect(rows.first?["title"] as? String == "Cellar")
    #expect(rows.first?["roomType"] is NSNull)
    #expect(rows.first?["squareFootage"] as? Double == 1.5)
    #expect((told["imported"] as? Int) == rows.count)
    #expect((told["imported"] as? Int ?? 0) + (told["skipped"] as? Int ?? 0) == 2)
  }

  @Test(
    "An import with invalid rows is refused whole or skips them on request",
    arguments: [
      ("a.csv", "title,squareFootage\nA,1\nB,-1\nC,x\nD,2\n", [3, 4]),
      (
        "a.ndjson",
        "{\"title\":\"A\"}\n{\"title\":\"B\",\"squareFootage\":-1}\n{\"title\":\"C\",\"squareFootage\":\"x\"}\n"
          + "{\"title\":\"D\"}\n", [2, 3]
      ),
    ])
  func rowsThatCannotBeTakenAreNamedAndAllOrNoneGoIn(_ name: String, _ text: String, _ lines: [Int]) throws {
    let shop = try Workshop()
    try shop.write(text, to: name)
    let arguments = ["import", "Room", "@\(name)", "--set", "projectId=1", "--json"]
    let refused = try shop.run(arguments)
    #expect(refused.status == 10)
    try check(try refused.object(), imported: 0, skipped: 0, lines)
    #expect(try shop.count("OfflineRoom") == 1)
    let taken = try shop.run(arguments + ["--skip-invalid"])
    #expect(taken.status == 0)
    try check(try taken.object(), imported: 2, skipped: 2, lines)
    #expect(try shop.count("OfflineRoom") == 3)
  }

  private func check(_ told: [String: Any], imported: Int, skipped: Int, _ lines: [Int]) throws {
    #expect(told["imported"] as? Int == imported)
    #expect(told["skipped"] as? Int == skipped)
    let errors = try #require(told["errors"] as? [[String: Any]])
    #expect(errors.map { $0["line"] as? Int } == lines)
    #expect(errors.map { $0["field"] as? String } == ["squareFootage", "squareFootage"])
    #expect(errors.allSatisfy { ($0["message"] as? String)?.isEmpty == false })
  }

  @Test("Skipped rows are named in the text output")
  func skippedRowsAreToldToPeople() throws {
    let shop = try Workshop()
    try shop.write("title,squareFootage\nA,1\nB,-1\n", to: "a.csv")
    let ran = try shop.done("import", "Room", shop.path("a.csv"), "--set", "projectId=1", "--skip-invalid")
    #expect(ran.output.contains("Imported 1 Room"))
    #expect(ran.output.contains("line 3: squareFootage breaks the rule"))
  }

  @Test("An import finds a referenced record by one of its columns")
  func aReferencedRecordIsFoundByAColumnOfItsOwn() throws {
    let shop = try Workshop()
    try shop.write("body,place\nWet,Attic\nDry,\n", to: "notes.csv")
    try shop.done(
      "import", "Note", shop.path("notes.csv"), "--map", "roomId.title=place", "--set", "projectId=1")
    let notes = try shop.done("list", "Note", "--order", "body", "--json").rows()
    #expect(notes.map { $0["roomId"] as? Int } == [nil, 1])
    try shop.write("body,place\nWet,Atic\n", to: "notes.csv")
    let refused = try shop.run(
      "import", "Note", shop.path("notes.csv"), "--map", "roomId.title=place", "--set", "projectId=1")
    #expect(refused.status == 10)
    #expect(refused.errors.contains("line 2: roomId"), "\(refused.errors)")
  }

  @Test("An import reads standard input")
  func aFileComesFromStandardInput() throws {
    let shop = try Workshop()
    try shop.done(
      "import", "Room", "-", "--format", "csv", "--set", "projectId=1", input: "\u{feff}title\r\nA\r\nB\r\n")
    #expect(try shop.count("OfflineRoom") == 3)
  }

  @Test("Exported records import equal into another vault", arguments: ["csv", "ndjson", "json"])
  func whatIsExportedComesBackInAnotherVault(_ format: String) throws {
    let shop = try Workshop()
    let hostile = [
      "plain", "a,b", "\"q\"", "two\nlines", "NA", " spaces ", "Ünï 水 🛖", "'; DROP TABLE OfflineRoom; --", "007",
    ]
    let rooms = hostile.enumerated().map { index, text in
      ["title": text, "projectId": 1, "squareFootage": Double(index) / 3, "isAccessible": index % 2 == 0]
        as [String: Any]
    }
    let json = String(decoding: try JSONSerialization.data(withJSONObject: rooms), as: UTF8.self)
    try shop.done("put", "Room", "--from", "-", input: json)
    try shop.write(try shop.done("export", "Room", "--format", format).output, to: "rooms.\(format)")
    // A second vault, with the project and without rooms.
    try shop.done("init", "--schema", "restoration", vault: "second.vault")
    try shop.done("put", "Project", "title=14 Elm Street", "--uuid", Workshop.project, vault: "second.vault")
    try shop.done("import", "Room", shop.path("rooms.\(format)"), vault: "second.vault")
    let own = "SELECT uuid, projectId, locationId, title, roomType, level, squareFootage, isAccessible FROM OfflineRoom"
    let first = try shop.done("query", own + " ORDER BY uuid", "--json")
    let second = try shop.done("query", own + " ORDER BY uuid", "--json", vault: "second.vault")
    #expect(first.output == second.output)
    #expect(try first.rows().count == hostile.count + 1)
  }

  @Test("An export has the requested format and columns")
  func exportIsWhatItSays() throws {
    let shop = try Workshop()
    let csv = try shop.done("export", "Room")
    #expect(csv.lines.count == 2)
    #expect(csv.lines[0].hasPrefix("roomId,serverId,uuid,projectId"))
    #expect(csv.output == (try shop.done("export", "OfflineRoom", "--format", "csv").output))
    #expect(try shop.done("export", "Room", "--format", "json").rows().count == 1)
    let line = try shop.done("export", "Room", "--format", "ndjson")
    #expect(try line.object()["uuid"] as? String == Workshop.room)
    #expect(try shop.done("export", "Note", "--format", "json").output == "[]\n")
    #expect(try shop.done("export", "Note", "--format", "ndjson").output.isEmpty)
  }
}
