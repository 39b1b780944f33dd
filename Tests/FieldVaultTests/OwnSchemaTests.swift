import Foundation
import Testing

/// A schema that this program never saw before.
@Suite
struct OwnSchemaTests {
  private static let readings = """
    -- A reading of an instrument.
    CREATE TABLE reading (
      readingId INTEGER PRIMARY KEY,
      uuid TEXT NOT NULL UNIQUE
        CHECK (uuid GLOB '????????-????-????-????-????????????' AND length(unhex(uuid, '-')) IS 16 AND uuid = lower(uuid)),
      place TEXT NOT NULL,
      humidity REAL NOT NULL CHECK (humidity BETWEEN 0 AND 100) -- %
    ) STRICT;

    """

  private func shop() throws -> Workshop {
    let shop = try Workshop(vault: false)
    try shop.write(Self.readings, to: "Instruments/0001_readings.sql")
    let made = try shop.done("init", "--schema", shop.path("Instruments"), "--json").object()
    #expect(made["entities"] as? [String] == ["reading"])
    return shop
  }

  @Test("Records of a custom schema are written, read, imported and deleted")
  func itsRecordsAreWrittenAndRead() throws {
    let shop = try shop()
    let put = try shop.done("put", "reading", "place=cellar", "humidity=71.5", "--json").object()
    #expect(put["humidity"] as? Double == 71.5)
    let uuid = try #require(put["uuid"] as? String)
    #expect(try shop.done("list", "reading", "--json").rows().count == 1)
    #expect(try shop.done("get", "reading", uuid, "--json").object()["place"] as? String == "cellar")
    let refused = try shop.run("put", "reading", "place=attic", "humidity=171.5")
    #expect(refused.status == 10)
    #expect(refused.errors.contains("reading.humidity breaks the rule humidity BETWEEN 0 AND 100"))
    #expect(try shop.run("list", "readin").errors.contains("did you mean 'reading'?"))
    try shop.write("place,humidity\nattic,50\nhall,101\n", to: "a.csv")
    let imported = try shop.run("import", "reading", shop.path("a.csv"))
    #expect(imported.status == 10)
    #expect(imported.errors.contains("line 3: humidity breaks the rule"))
    #expect(try shop.done("export", "reading").lines.count == 2)
    try shop.done("delete", "reading", uuid)
    #expect(try shop.count("reading") == 0)
  }

  @Test("A new schema file pauses commands until the migration is applied")
  func aNewFileWaitsUntilItIsApplied() throws {
    let shop = try shop()
    try shop.done("put", "reading", "place=cellar", "humidity=71.5")
    try shop.write("ALTER TABLE reading ADD COLUMN note TEXT;\n", to: "Instruments/0002_note.sql")
    let commands = [
      ["list", "reading"], ["put", "reading", "place=a", "humidity=1"], ["query", "SELECT 1"], ["export", "reading"],
      ["search", "x"], ["shell", "--command", "SELECT 1"],
    ]
    for arguments in commands {
      let ran = try shop.run(arguments)
      #expect(ran.status == 10, "\(arguments)")
      #expect(ran.output.isEmpty)
      #expect(ran.errors.contains("Instruments/0002_note.sql is pending"), "\(ran.errors)")
      #expect(ran.errors.contains("fieldvault migrate apply"))
    }
    let waiting = try shop.done("migrate", "status", "--json").rows().filter { $0["appliedAt"] is NSNull }
    #expect(waiting.map { $0["name"] as? String } == ["note"])
    #expect(waiting.map { $0["version"] as? Int } == [2])
    #expect(try shop.done("migrate", "status").output.contains("pending"))
    let applied = try shop.done("migrate", "apply", "--json").rows()
    #expect(applied.map { $0["schema"] as? String } == ["Instruments"])
    #expect(applied.allSatisfy { $0["appliedAt"] is String && ($0["checksum"] as? String)?.count == 64 })
    #expect(try shop.done("migrate", "apply").output == "No pending files.\n")
    #expect(try shop.done("migrate", "status", "--json").rows().allSatisfy { $0["appliedAt"] is String })
    let row = try shop.done("list", "reading", "--json").rows()[0]
    #expect(row["place"] as? String == "cellar")
    #expect(row["note"] is NSNull)
    #expect(
      try shop.done("put", "reading", "place=a", "humidity=1", "note=x", "--json").object()["note"] as? String == "x")
  }

  @Test("A changed schema file is refused with its line")
  func aChangedFileIsRefusedWithItsLine() throws {
    let shop = try shop()
    let changed = Self.readings.replacingOccurrences(of: "AND 100", with: "AND 110")
    try shop.write(changed, to: "Instruments/0001_readings.sql")
    for arguments in [["list", "reading"], ["migrate", "status"], ["migrate", "apply"], ["migrate", "verify"]] {
      let ran = try shop.run(arguments)
      #expect(ran.status == 10, "\(arguments)")
      #expect(ran.errors.contains("Instruments/0001_readings.sql:7: the file was changed"), "\(ran.errors)")
    }
  }

  @Test(
    "A schema file that cannot be applied changes nothing",
    arguments: [
      ("0002_broken.sql", "CREATE TABLE x (\n  y NOSUCH) STRICT;\n", "Instruments/0002_broken.sql:1: unknown datatype"),
      ("0003_gap.sql", "CREATE TABLE x (y) STRICT;\n", "version 2 is missing"),
      ("0001_again.sql", "CREATE TABLE x (y TEXT) STRICT;\n", "0001"),
      ("readme.sql", "", "the name is not NNNN_what_it_does.sql"),
    ])
  func aFileThatCannotBeAppliedChangesNothing(_ name: String, _ sql: String, _ message: String) throws {
    let shop = try shop()
    try shop.done("put", "reading", "place=cellar", "humidity=71.5")
    try shop.write(sql, to: "Instruments/\(name)")
    let ran = try shop.run("migrate", "apply")
    #expect(ran.status == 10)
    #expect(ran.errors.contains(message), "\(ran.errors)")
    try FileManager.default.removeItem(atPath: shop.path("Instruments/\(name)"))
    #expect(try shop.done("migrate", "verify", "--json").rows().isEmpty)
    #expect(try shop.count("reading") == 1)
  }

  @Test("Verification shows schema changes made by hand")
  func verifyShowsWhatWasChangedByHand() throws {
    let shop = try shop()
    #expect(try shop.done("migrate", "verify", "--json").output == "[]\n")
    try shop.done("query", "CREATE INDEX byPlace ON reading (place)", "--write")
    let ran = try shop.run("migrate", "verify", "--json")
    #expect(ran.status == 10)
    let difference = try ran.rows()[0]
    #expect(difference["kind"] as? String == "unexpected")
    #expect(difference["type"] as? String == "index")
    #expect(difference["name"] as? String == "byPlace")
    #expect(difference["expected"] is NSNull)
    #expect((difference["found"] as? String)?.contains("(place)") == true)
    #expect(try shop.run("migrate", "verify").output.contains("unexpected: index byPlace"))
    try shop.done("query", "DROP INDEX byPlace", "--write")
    try shop.done("migrate", "verify")
  }

  @Test("A vault does not need the folder of its schema")
  func theVaultWorksWithoutTheFolder() throws {
    let shop = try shop()
    try shop.done("put", "reading", "place=cellar", "humidity=71.5")
    try FileManager.default.removeItem(atPath: shop.path("Instruments"))
    #expect(try shop.done("list", "reading", "--json").rows().count == 1)
    try shop.done("migrate", "verify")
  }

  @Test("A failing schema leaves no vault")
  func aSchemaThatFailsLeavesNoVault() throws {
    let shop = try Workshop(vault: false)
    for (file, text, message) in [
      ("none", "", "contains no .sql file"), ("Bad/0001_x.sql", "CREATE TABLE", "Bad/0001_x.sql:1"),
    ] {
      try shop.write(text, to: file == "none" ? "Bad/notes.txt" : file)
      let ran = try shop.run("init", "--schema", shop.path("Bad"))
      #expect(ran.status == 10)
      #expect(ran.errors.contains(message), "\(ran.errors)")
      let left = try FileManager.default.contentsOfDirectory(atPath: shop.folder.path)
      #expect(left.filter { $0.contains("vault") }.isEmpty)
    }
  }
}
