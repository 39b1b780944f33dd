import Foundation
import SchemaCompiler
import TestSupport
import Testing

/// `fieldvault schema new`: the written folder works in vaults and servers, and a refused command writes nothing.
@Suite(.serialized)
struct SchemaNewTests {
  private static let entities = [
    "Station:title,position=JSON,parentStationId=Station,isActive=BOOL,group=INTEGER",
    "Reading:stationId=Station,takenAt=TIME,day=date,value=REAL,raw=BLOB,order=BOOL", "GPSFix",
  ]

  private func files(_ folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.contains(".") }.sorted()
  }

  private func written() throws -> Workshop {
    let shop = try Workshop(vault: false)
    let made = try shop.run(["schema", "new", "@stations"] + Self.entities + ["--json"])
    #expect(made.status == 0, "\(made.errors)")
    let names = ["README.md", "0001_tables.sql", "0002_registry.sql", "queries/examples.sql"]
    #expect(try made.object()["files"] as? [String] == names.map { shop.path("stations/\($0)") })
    #expect(try files(shop.path("stations")) == names.sorted())
    return shop
  }

  @Test("Two vaults and a server load a new schema, and sync its records") func newSchemaSyncs() throws {
    let shop = try written()
    let work = try SyncWorkshop(shop: shop, schema: shop.path("stations"))
    for (vault, person) in [("a.vault", "ada"), ("b.vault", "bob")] {
      let made = try shop.done("init", "--schema", "@stations", "--json", vault: vault).object()
      #expect(Set(made["entities"] as? [String] ?? []) == ["Station", "Reading", "GPSFix"])
      try shop.write(try work.token(of: person, ["--account", "water"]), to: "token-\(vault)")
    }
    try work.connect()
    let station = try work.put("a.vault", "Station", "title=Harbour", "position={}", "group=3")
    let below = try work.put("a.vault", "Station", "title=Pier", "parentStationId=\(station)")
    let reading = try work.put(
      "a.vault", "Reading", "stationId=\(station)", "takenAt=2026-01-31T06:00:00.000Z", "day=2026-01-31", "value=1.5",
      "order=true")
    let fix = try work.put("a.vault", "GPSFix", "title=first")
    #expect(try work.sync("a.vault")["pushed"] as? Int == 4)
    #expect(try work.sync("b.vault")["pulled"] as? Int == 4)
    #expect(try work.value("value", "Reading", reading, "b.vault") == "1.5")
    #expect(try work.value("title", "GPSFix", fix, "b.vault") == "first")
    #expect(try shop.done("list", "Station", "--json", vault: "b.vault").rows().count == 2)
    // A record goes with the record of another entity that it references, and stays if that is one of its own.
    try shop.done("delete", "Station", station, "--yes", vault: "b.vault")
    #expect(try work.value("value", "Reading", reading, "b.vault") == nil)
    #expect(try work.value("title", "Station", below, "b.vault") == "Pier")
  }

  @Test("A wrong value of each type is refused") func typesAreChecked() throws {
    let shop = try written()
    try shop.done("init", "--schema", "@stations", "-q")
    for assignment in ["takenAt=yesterday", "day=2026-02-30", "value=much", "order=2", "stationId=7"] {
      #expect(try shop.run("put", "Reading", assignment).status == 10, "\(assignment)")
    }
    #expect(try shop.run("put", "Station", "position={").status == 10)
  }

  @Test("The named query and the tables become Swift") func swift() throws {
    let shop = try written()
    let sources = [
      SchemaCompiler.Source(name: "core", folder: packagePath("Schema/core")),
      SchemaCompiler.Source(name: "stations", folder: shop.path("stations")),
    ]
    let outputs = try SchemaCompiler(sources: sources, emitting: "stations").compile()
    let text = outputs.map(\.text).joined()
    for part in ["struct Reading", "struct GPSFix", "func recentStationRecords", "A gps fix."] {
      #expect(text.contains(part), "\(part)")
    }
  }

  @Test("The common fields are those that the documentation of schemas has") func commonFields() throws {
    let shop = try written()
    let text = try String(contentsOfFile: shop.path("stations/0001_tables.sql"), encoding: .utf8)
    let documented = try String(contentsOfFile: packagePath("Schema/README.md"), encoding: .utf8)
    let start = try #require(documented.range(of: "  uuid TEXT NOT NULL UNIQUE\n"))
    let own = try #require(documented.range(of: "  -- (the entity's own columns)\n"))
    let end = try #require(documented.range(of: ") STRICT;\n", range: own.upperBound..<documented.endIndex))
    #expect(text.components(separatedBy: documented[start.lowerBound..<own.lowerBound]).count == 4)
    #expect(text.components(separatedBy: documented[own.upperBound..<end.upperBound]).count == 4)
  }

  @Test("The commands of the README work") func readme() throws {
    let shop = try written()
    let text = try String(contentsOfFile: shop.path("stations/README.md"), encoding: .utf8)
    #expect(text.contains("fieldvault init --schema ./stations --vault stations.vault\n"))
    let put = try #require(text.split(separator: "\n").first { $0.hasPrefix("fieldvault put") })
    let words = put.split(separator: " ").dropFirst().map(String.init)
    try shop.done("init", "--schema", "@stations", "-q")
    let ran = try shop.run(Array(words.prefix { $0 != "--vault" }))
    #expect(ran.status == 0, "\(ran.errors)")
  }

  @Test(
    "A bad command line is refused and writes nothing",
    arguments: [
      ("Stations", ["Reading"], "lowercase letters"), ("restoration", ["Reading"], "'my-restoration'"),
      ("core", ["Reading"], "shipped schema"), ("stations", ["reading"], "write 'Reading'"),
      ("stations", ["Site Visit"], "upper-case letter"), ("stations", ["Reading", "Reading"], "given twice"),
      ("stations", ["Reading", "READING"], "more than case"), ("stations", ["SyncQueue"], "'MySyncQueue'"),
      ("stations", ["REAL"], "name of a type"), ("stations", ["Reading:"], "name of a field of Reading"),
      ("stations", ["Reading:value=REEL"], "did you mean 'REAL'?"),
      ("stations", ["Reading:value,Value"], "lower-case letter"), ("stations", ["Reading:value,vaLue"], "given twice"),
      ("stations", ["Reading:uuid"], "maintained by FieldVault"),
      ("stations", ["Reading:readingId=INTEGER"], "maintained by FieldVault"),
      ("stations", ["Reading:stationId=Station"], "unknown type 'Station'"),
      ("stations", ["Station", "Reading:station=Station"], "write 'stationId=Station'"),
      ("stations", ["Reading:contentKey=BLOB"], "column of attachments"),
      ("stations", [], "ENTITY is missing"),
    ] as [(String, [String], String)])
  func refusals(_ name: String, _ entities: [String], _ message: String) throws {
    let shop = try Workshop(vault: false)
    let before = try files(shop.folder.path)
    let ran = try shop.run(["schema", "new", "@\(name)"] + entities)
    #expect(ran.status == 2)
    #expect(ran.errors.contains(message), "\(ran.errors)")
    #expect(try files(shop.folder.path) == before)
    #expect(!FileManager.default.fileExists(atPath: shop.path(name)))
  }

  @Test("An existing folder and a missing parent are refused, and nothing remains") func places() throws {
    let shop = try Workshop(vault: false)
    try FileManager.default.createDirectory(atPath: shop.path("stations"), withIntermediateDirectories: false)
    let before = try FileManager.default.subpathsOfDirectory(atPath: shop.folder.path).sorted()
    for place in ["@stations", "@stations/", "@none/stations"] {
      let ran = try shop.run("schema", "new", place, "Reading")
      #expect(ran.status == 1, "\(ran.errors)")
      #expect(ran.errors.contains(place.contains("none") ? "check the path" : "already exists"), "\(ran.errors)")
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: shop.folder.path).sorted() == before)
  }
}
