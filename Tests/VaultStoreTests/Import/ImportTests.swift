import CipherSQL
import Foundation
import RestorationModel
import StoreSupport
import TestSupport
import Testing

@testable import VaultStore

/// All rows or none, and every refusal with line and field.
@Suite struct ImportTests {
  private let folder: TemporaryFolder
  private let database: Database
  private let entities: Entities

  init() throws {
    folder = try TemporaryFolder()
    (database, entities) = try restorationDatabase()
    try database.write { db in
      let project = try db.insert(Project(title: "House"))
      for title in ["attic", "cellar"] { try db.insert(Room(projectId: project.projectId, title: title)) }
      try db.insert(Room(projectId: project.projectId, title: "twin"))
      try db.insert(Room(projectId: project.projectId, title: "twin"))
    }
  }

  private var plan: ImportPlan {
    var plan = ImportPlan()
    plan.mapping = [("date", "time"), ("temperature", "temp"), ("relativeHumidity", "rh"), ("roomId.title", "room")]
    plan.constants = [("projectId", "1")]
    plan.nullText = "NA"
    return plan
  }

  private func importing(
    _ text: String, _ plan: ImportPlan, name: String = "x.csv", into type: String = "AtmosphericLog"
  ) throws -> ImportResult {
    let source = try ByteSource(path: try folder.write(text, to: name))
    return try database.write { db in
      let importer = Importer(
        connection: db, entities: entities, entity: try entities.entity(type), plan: plan, progress: { _, _ in })
      if name.hasSuffix(".ndjson") { return try importer.importNDJSON(source) }
      return name.hasSuffix(".json") ? try importer.importJSON(source) : try importer.importCSV(source)
    }
  }

  private var logs: Int { get throws { try database.read { try AtmosphericLog.all.count($0) } } }

  @Test("Imported CSV rows become pending records") func rowsBecomeRecords() throws {
    let result = try importing(
      "time,temp,rh,room\n2013-01-01T06:00:00Z,39.02,59.37,attic\n2013-01-01 08:00+01:00,NA1,1,attic\n"
        .replacingOccurrences(
          of: "NA1", with: "40"), plan)
    #expect(result.imported == 2)
    let log = try #require(try database.read { try AtmosphericLog.all.order { $0.logId.ascending }.fetchFirst($0) })
    #expect(log.date.sqlText == "2013-01-01T06:00:00.000Z")
    #expect(log.temperature == 39.02)
    #expect(log.roomId == 1)
    #expect(log.isDirty && log.syncStatus == .pending)
  }

  @Test(
    "An invalid row is reported with line and field, or skipped on request",
    arguments: [
      ("2013-01-01T06:00:00Z,warm,50,attic", "temperature", "is not a number"),
      ("2013-01-01T06:00:00Z,70,101,attic", "relativeHumidity", "breaks the rule relativeHumidity BETWEEN 0 AND 100"),
      ("2013-01-01T06:00:00Z,NA,50,attic", "temperature", "is missing"),
      ("2013-01-01T06:00:00,70,50,attic", "date", "is not a time with a time zone; write it as 2013-01-31T06:00:00Z"),
      ("2013-02-30T06:00:00Z,70,50,attic", "date", "is not a time with a time zone; write it as 2013-01-31T06:00:00Z"),
      ("2013-01-01T06:00:00Z,70,50,kitchen", "roomId", "does not match the title of any Room"),
      ("2013-01-01T06:00:00Z,70,50,twin", "roomId", "matches the title of several Room records"),
      ("2013-01-01T06:00:00Z,0x10,50,attic", "temperature", "is not a number"),
    ])
  func aRowThatCannotBeTakenIsNamed(_ row: String, _ field: String, _ message: String) throws {
    let good = "2013-01-01T06:00:00Z,70,50,attic\n"
    do {
      _ = try importing("time,temp,rh,room\n\(good)\(row)\n\(good)", plan)
      Issue.record("the import was accepted")
    } catch let refused as ImportRefused {
      #expect(refused.result.problems == [ImportProblem(line: 3, field: field, message: message)])
      #expect(refused.result.imported == 0)
    }
    #expect(try logs == 0)
    var skipping = plan
    skipping.skipsInvalid = true
    let result = try importing("time,temp,rh,room\n\(good)\(row)\n\(good)", skipping)
    #expect((result.imported, result.skipped) == (2, 1))
    #expect(try logs == 2)
  }

  @Test("A row with too few fields is reported with its line") func aRowTooShortIsNamed() throws {
    do {
      _ = try importing("time,temp,rh,room\n2013-01-01T06:00:00Z,70\n2013-01-01T06:00:00Z,70\n", plan)
      Issue.record("the import was accepted")
    } catch let refused as ImportRefused {
      #expect(refused.result.problems.map(\.line) == [2, 3])
    }
  }

  @Test("A quote that is never closed refuses the file, with rows skipped too", arguments: [false, true])
  func openQuote(skips: Bool) throws {
    var plan = plan
    plan.skipsInvalid = skips
    let row = "2013-01-01T06:00:00Z,70,50,"
    let error = #expect(throws: VaultError.self) {
      try importing("time,temp,rh,room\n\(row)attic\n\(row)\"attic\n\(row)attic\n", plan)
    }
    #expect(error?.message.hasSuffix("x.csv:3: the quote that opens here is never closed") == true)
    #expect(try logs == 0)
  }

  @Test(
    "Without a mapping a column that is no field is refused; with one it is left out and named",
    arguments: ["x.csv", "x.ndjson", "x.json"])
  func unknownColumns(name: String) throws {
    func text(_ title: String) -> String {
      switch name {
      case "x.csv": "\(title),levle,notes,isDirty\nx,1,a,1\ny,2,b,1\n"
      case "x.ndjson":
        "{\"\(title)\":\"x\",\"levle\":1,\"isDirty\":1}\n{\"\(title)\":\"y\",\"notes\":\"b\",\"levle\":1}\n"
      default: "[{\"\(title)\":\"x\",\"levle\":1},\n{\"\(title)\":\"y\",\"levle\":1,\"notes\":\"b\"}]"
      }
    }
    var plan = ImportPlan()
    plan.constants = [("projectId", "1")]
    let error = #expect(throws: VaultError.self) { try importing(text("title"), plan, name: name, into: "Room") }
    #expect(error?.message.hasSuffix("\(name):1: Room has no field 'levle'") == true)
    if name != "x.csv" {
      plan.skipsInvalid = true
      let more = name == "x.ndjson" ? "{\"title\":\"z\"}" : ""
      let result = try importing(text("title") + more, plan, name: name, into: "Room")
      #expect(result.imported == (more.isEmpty ? 0 : 1) && result.skipped == 2)
      #expect(result.problems.map(\.line) == [1, 2])
    }
    plan.mapping = [("title", "name")]
    let result = try importing(text("name"), plan, name: name, into: "Room")
    #expect(result.imported == 2)
    #expect(result.ignoredColumns.contains("levle") && !result.ignoredColumns.contains("isDirty"))
    plan.mapping = [("titel", "name")]
    #expect(throws: VaultError.self) { try importing(text("name"), plan, name: name, into: "Room") }
  }

  @Test("A field of another record names a reference without a mapping", arguments: ["x.csv", "x.ndjson", "x.json"])
  func lookupByName(name: String) throws {
    let time = "2013-01-01T06:00:00Z"
    let json = "{\"date\":\"\(time)\",\"temperature\":1,\"relativeHumidity\":2,\"roomId.title\":\"cellar\"}"
    let csv = "date,temperature,relativeHumidity,roomId.title\n\(time),1,2,cellar\n"
    for mapping in [[], [(field: "temperature", column: "temperature")]] {
      var plan = ImportPlan()
      plan.constants = [("projectId", "1")]
      plan.mapping = mapping
      let result = try importing(name == "x.csv" ? csv : json, plan, name: name)
      #expect(result.imported == 1 && result.ignoredColumns.isEmpty)
    }
    #expect(try database.read { try AtmosphericLog.all.where { $0.roomId == 2 }.count($0) } == 2)
  }

  @Test("A repeated UUID is reported with its line") func aUUIDThatStandsAlreadyIsRefused() throws {
    let row = "01a1fd1f-d900-7000-acea-ec2d1c71a742,2013-01-01T06:00:00Z,70,50,attic\n"
    do {
      _ = try importing("uuid,time,temp,rh,room\n\(row)\(row)", plan)
      Issue.record("the import was accepted")
    } catch let refused as ImportRefused {
      #expect(
        refused.result.problems
          == [ImportProblem(line: 3, field: "uuid", message: "is already used by another record")])
    }
  }

  @Test("A common field cannot be imported") func aFieldThatFieldVaultKeepsIsNotImported() throws {
    var wrong = plan
    wrong.mapping.append(("syncStatus", "temp"))
    #expect {
      _ = try importing("time,temp,rh,room\n", wrong)
    } throws: {
      ($0 as? VaultError)?.code == .refused
    }
  }

  @Test("NDJSON and JSON arrays are imported") func objectsOnLinesAndInAnArrayBecomeRecordsToo() throws {
    let object =
      "{\"projectId\":1,\"roomId\":2,\"date\":\"2013-01-01T06:00:00Z\",\"relativeHumidity\":50,\"temperature\":70.5}"
    #expect(try importing("\(object)\n\n\(object)\n", ImportPlan(), name: "x.ndjson").imported == 2)
    #expect(try importing("[\(object),\n\(object)]", ImportPlan(), name: "x.json").imported == 2)
    do {
      _ = try importing("\(object)\n{\"projectId\":1\n", ImportPlan(), name: "x.ndjson")
      Issue.record("the import was accepted")
    } catch let refused as ImportRefused {
      #expect(refused.result.problems.map(\.line) == [2])
    }
    #expect(try logs == 4)
  }

  @Test("A number beyond the range of a REAL is refused with its line and field", arguments: ["x.ndjson", "x.json"])
  func numbersThatAreTooLarge(_ name: String) throws {
    let object =
      "{\"projectId\":1,\"date\":\"2013-01-01T06:00:00Z\",\"relativeHumidity\":50,\"temperature\":1e400}"
    #expect(
      try problems(of: object, name) == [
        ImportProblem(line: 1, field: "temperature", message: "is too large a number")
      ])
  }

  /// The reason with which the import of one object is refused.
  private func problems(
    of object: String, _ name: String, into type: String = "AtmosphericLog"
  ) throws -> [ImportProblem] {
    do {
      _ = try importing(name == "x.json" ? "[\(object)]" : object, ImportPlan(), name: name, into: type)
      return []
    } catch let refused as ImportRefused {
      return refused.result.problems
    }
  }

  @Test("A whole number beyond 64 bits is a REAL, and refused by other columns", arguments: ["x.ndjson", "x.json"])
  func wholeNumberBeyond64Bits(_ name: String) throws {
    let number = "10000000000000000000000"
    let room = "{\"projectId\":1,\"title\":\"hall\",\"squareFootage\":\(number)}"
    #expect(try problems(of: room, name, into: "Room") == [])
    let stored = try database.read {
      try $0.fetchOne("SELECT squareFootage FROM OfflineRoom WHERE title = 'hall'", as: Double.self)
    }
    #expect(stored == 1e22)
    #expect(
      try problems(of: "{\"projectId\":\(number),\"title\":\"hall\"}", name, into: "Room") == [
        ImportProblem(line: 1, field: "projectId", message: "is not a whole number of at most 64 bits")
      ])
  }

  @Test("Half of a surrogate pair is refused with its line and field", arguments: ["x.ndjson", "x.json"])
  func halfOfASurrogatePair(_ name: String) throws {
    for value in ["\"a\\ud800b\"", "\"\\udfff\"", "{\"x\":[\"\\ud800\\u0041\"]}"] {
      let object = "{\"projectId\":1,\"date\":\(value),\"relativeHumidity\":50}"
      #expect(
        try problems(of: object, name) == [
          ImportProblem(line: 1, field: "date", message: "has an unpaired surrogate")
        ])
    }
  }

  @Test("No column takes an infinite number from JSON, not even as text")
  func infiniteNumbers() throws {
    for column in entities.all.flatMap(\.table.columns) {
      for number in [Double.infinity, -.infinity, .nan] {
        #expect(throws: FieldProblem.self, "\(column.name)") {
          try FieldInput.typed(.real(number)).argument(for: column)
        }
      }
    }
  }

  @Test("Imported JSON keeps 64-bit integers") func numbersKeepTheir64Bits() throws {
    try database.write { db in
      let fields = try JSONFields(
        object: "{\"a\":9007199254740993,\"b\":0.1,\"c\":null,\"d\":[1, 2],\"e\":true}",
        of: entities.entity("Room"), on: db
      ).fields
      let values = fields.map { field -> FieldInput.JSONScalar? in
        if case .typed(let scalar) = field.value { scalar } else { nil }
      }
      #expect(values == [.integer(9_007_199_254_740_993), .real(0.1), .null, .structure("[1,2]"), .bool(true)])
    }
  }

  /// SQLite reads the first three as the neighbouring number. It would read the names of the others as paths.
  @Test("Imported JSON fractions are read as the nearest number") func fractionsAreReadAsTheNumberNextToThem() throws {
    let object =
      #"{"a":49434.6314844556,"b":[447385.4698699],"c":552548.877588837,"$.a":0.5,"[0]":1e300,"":2.5,"[x]":3.5,"e\\":4.5,"f\"":5.5,"d é.":-2.5e-7}"#
    let values = try database.read { db in
      try JSONFields(object: object, of: entities.entity("Room"), on: db).fields.map {
        field -> FieldInput.JSONScalar? in
        if case .typed(let scalar) = field.value { scalar } else { nil }
      }
    }
    #expect(
      values == [
        .real(49434.6314844556), .structure("[447385.4698699]"), .real(552548.877588837), .real(0.5), .real(1e300),
        .real(2.5), .real(3.5), .real(4.5), .real(5.5), .real(-2.5e-7),
      ])
  }
}
