import Foundation
import TestSupport
import Testing

/// `export --all` and `import --all`: the folder holds everything, and a refused command changes nothing.
@Suite(.serialized)
struct ExportAllTests {
  /// An inlet and its outlet. The outlet, which references the inlet, precedes it in the order of the uuids.
  private static let inlet = "01a1ffff-0000-7000-8000-00000000000b"
  private static let outlet = "01a1ffff-0000-7000-8000-00000000000a"

  private let shop: Workshop

  init() throws {
    shop = try Workshop(vault: false)
    let template = try Self.template.get()
    for name in ["v.vault", "w.vault", "memos", "plan.pdf"] {
      try FileManager.default.copyItem(atPath: template.path(name), toPath: shop.path(name))
    }
  }

  /// A filled vault and an empty one with the same schemas, made once and then only read.
  private nonisolated(unsafe) static let template = Result { () throws -> Workshop in
    let shop = try Workshop(vault: false)
    try shop.write(
      """
      CREATE TABLE tag (word TEXT PRIMARY KEY, uuid TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE memo (memoId INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, after INTEGER REFERENCES memo (memoId), value ANY,
        tag TEXT REFERENCES tag (word), words INTEGER AS (length(value))) STRICT;

      """,
      to: "memos/0001_memos.sql")
    for vault in ["v.vault", "w.vault"] {
      try shop.done("init", "--schema", "restoration", "receipts", shop.path("memos"), "-q", vault: vault)
    }
    try fill(shop)
    return shop
  }

  private static func fill(_ shop: Workshop) throws {
    try shop.done("put", "Project", "title=Élan \u{1F3E0}\t\"x\"", "--uuid", Workshop.project, "-q")
    try shop.done(
      "put", "Room", "title=Attic", "projectId=\(Workshop.project)", "squareFootage=0.1", "--uuid", Workshop.room, "-q")
    let reading = [
      "projectId=\(Workshop.project)", "date=2026-01-01T00:00:00.000Z", "relativeHumidity=51.3", "temperature=70",
    ]
    for (uuid, more) in [(inlet, "isInlet=true"), (outlet, "inletId=\(inlet)")] {
      let ran = try shop.run(["put", "AtmosphericLog", "--uuid", uuid, "-q", more] + reading)
      guard ran.status == 0 else { throw Unexpected(ran.errors) }
    }
    try shop.done("put", "Receipt", "storeName=X", #"userTags=["a", "ü"]"#, "totalAmount=-1e300", "-q")
    let receipt = try shop.done("list", "Receipt", "--json").rows().first?["uuid"] as? String ?? ""
    try shop.done("put", "Receipt", "--uuid", receipt, "storeName=Y", "-q")
    try shop.done("put", "Category", "name=Möbel", "--uuid", "01900000-0000-7000-8000-000000000003", "-q")
    try shop.done("put", "Room", "title=gone", "projectId=\(Workshop.project)", "--uuid", Workshop.nobody, "-q")
    try shop.done("delete", "Room", Workshop.nobody, "--yes", "-q")
    try shop.done("query", "INSERT INTO tag (word, uuid) VALUES ('red', 't')", "--write", "-q")
    try shop.done(
      "query", "INSERT INTO memo (uuid, after, value, tag) VALUES ('b', NULL, x'00ff', 'red'), ('a', 1, 7, NULL)",
      "--write", "-q")
    try shop.write([UInt8](repeating: 7, count: 300_000), to: "plan.pdf")
    try shop.done("attach", "add", "Project", Workshop.project, "@plan.pdf", packagePath("Tests/Data/rocket.jpg"), "-q")
  }

  private func export(_ folder: String, vault: String = "v.vault") throws -> [String: Any] {
    try shop.done("export", "--all", "@\(folder)", "--yes", "--json", vault: vault).object()
  }

  /// The files of a folder with their content.
  private func content(_ folder: String) throws -> [String: Data] {
    var content: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: shop.path(folder)) {
      content[name] = FileManager.default.contents(atPath: shop.path("\(folder)/\(name)"))
    }
    return content
  }

  private func text(_ path: String) throws -> String { try String(contentsOfFile: shop.path(path), encoding: .utf8) }

  @Test("An export, its import and another export are the same bytes") func roundTrip() throws {
    let exported = try export("first")
    #expect(exported["files"] as? Int == 3 && exported["missing"] as? Int == 0)
    let entities = try #require(exported["entities"] as? [[String: Any]])
    let counts = entities.map { "\($0["entity"] ?? "") \($0["records"] ?? "")" }
    #expect(
      counts == ["AtmosphericLog 2", "Category 10", "Photo 2", "Project 1", "Receipt 1", "Room 1", "memo 2", "tag 1"],
      "\(counts)")
    let first = try content("first")
    #expect(first.count == 11, "\(first.keys.sorted())")
    #expect(first.values.contains(Data(repeating: 7, count: 300_000)))
    #expect(try text("first/Receipt.ndjson").contains(#""userEditedFields":["storeName"]"#))
    #expect(
      try text("first/memo.ndjson").contains(#""tag":"t""#) && text("first/tag.ndjson").contains(#""word":"red""#))
    let mode = { (path: String) in try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int }
    #expect(try mode(shop.path("first")) == 0o700 && mode(shop.path("first/Room.ndjson")) == 0o600)

    let imported = try shop.done("import", "--all", "@first", "--json", vault: "w.vault").object()
    #expect(imported["files"] as? Int == 3 && imported["missing"] as? Int == 0)
    // Nine categories are rows of the schema.
    #expect(imported["present"] as? Int == 9)
    _ = try export("second", vault: "w.vault")
    #expect(try content("second") == first)
    #expect(try shop.run("doctor", vault: "w.vault").status == 0)
    let log = try shop.done(
      "query",
      "SELECT inlet.uuid AS u FROM OfflineAtmosphericLog AS log JOIN OfflineAtmosphericLog AS inlet ON inlet.logId = log.inletId",
      "--json", vault: "w.vault")
    #expect(try log.rows().map { $0["u"] as? String } == [Self.inlet])
    // Each new record is sent once, and the edit of the category as well.
    let outbox = try shop.done("outbox", "list", "--json", vault: "w.vault").rows()
    #expect(outbox.count == 8, "\(outbox.count)")

    // The same again changes nothing.
    let again = try shop.done("import", "--all", "@first", "--json", vault: "w.vault").object()
    #expect(
      again["present"] as? Int == 20 && (again["entities"] as? [Any])?.isEmpty == true && again["files"] as? Int == 0)
    #expect(try shop.done("outbox", "list", "--json", vault: "w.vault").rows().count == 8)
  }

  @Test("An export needs a confirmation and a new folder") func exportRefusals() throws {
    let silent = try shop.run("export", "--all", "@out")
    #expect(silent.status == 10 && silent.errors.contains("--yes"), "\(silent.errors)")
    let (no, question) = try shop.run(["export", "--all", shop.path("out")], typing: "n\n")
    #expect(
      no.status == 1 && question.contains("not encrypted") && question.contains("Export everything?"), "\(question)")
    #expect(!FileManager.default.fileExists(atPath: shop.path("out")))
    let (yes, _) = try shop.run(["export", "--all", shop.path("out")], typing: "y\n")
    #expect(yes.status == 0)
    let before = try content("out")
    let full = try shop.run("export", "--all", "@out", "--yes")
    #expect(full.status == 1 && full.errors.contains("not empty"), "\(full.errors)")
    #expect(try content("out") == before)
    for words in [
      ["export"], ["export", "Room", "--all", "@x", "--yes"], ["export", "--all", "@x", "--format", "json", "--yes"],
      ["import"],
      ["import", "Room"], ["import", "Room", "--all", "@out"], ["import", "--all", "@out", "--skip-invalid"],
      ["import", "--all", "@out", "--map", "a=b"],
    ] { #expect(try shop.run(words).status == 2, "\(words)") }
  }

  @Test("A file that is not on the device is counted, and its record is exported") func missingFile() throws {
    let stored = shop.path("v.vault/attachments")
    for name in try FileManager.default.subpathsOfDirectory(atPath: stored)
    where name.contains("/") && !name.contains("thumb") {
      try FileManager.default.removeItem(atPath: "\(stored)/\(name)")
    }
    let ran = try shop.run("export", "--all", "@out", "--yes", "--json")
    #expect(ran.status == 0 && ran.errors.contains("2 files could not be exported"), "\(ran.errors)")
    #expect(try ran.object()["missing"] as? Int == 2)
    let imported = try shop.done("import", "--all", "@out", "--json", vault: "w.vault").object()
    #expect(imported["missing"] as? Int == 2)
    #expect(try shop.done("list", "Photo", "--json", vault: "w.vault").rows().count == 2)
  }

  /// A change of the exported folder, the exit code of its import and a part of the message.
  struct Damage: Sendable, CustomTestStringConvertible {
    let file: String
    let (from, to): (String, String)
    let (status, message): (Int32, String)
    var testDescription: String { message }

    init(_ file: String, _ from: String, _ to: String, _ status: Int32, _ message: String) {
      (self.file, self.from, self.to, self.status, self.message) = (file, from, to, status, message)
    }
  }

  @Test(
    "A folder with a mistake is refused with file and line, and changes nothing",
    arguments: [
      Damage("Room", "Attic", "Attic\"", 10, "Room.ndjson:1: not a JSON object"),
      Damage("Room", "\"title\"", "\"titel\"", 4, "Room.ndjson:1: Room has no field 'titel'"),
      Damage("Room", "\"title\":\"Attic\"", "\"title\":null", 10, "Room.ndjson:1: Room.title is missing"),
      Damage("Room", "\"uuid\"", "\"serverId\"", 10, "Room.ndjson:1: Room.uuid is missing"),
      Damage("Room", Workshop.project, Workshop.nobody, 10, "Room.ndjson:1: Room.projectId references the Project"),
      Damage(
        "AtmosphericLog", "\"inletId\":\"\(inlet)", "\"inletId\":\"\(Workshop.nobody)", 10,
        "AtmosphericLog.ndjson:1: AtmosphericLog.inletId references"),
      Damage("AtmosphericLog", "51.3", "151.3", 10, "AtmosphericLog.ndjson:1: AtmosphericLog.relativeHumidity breaks"),
      Damage("Photo", "\"contentDigest\":\"", "\"contentDigest\":\"0", 10, "is not the file of its record"),
      Damage("Photo", "\"contentKey\":\"", "\"contentKey\":\"AAAA", 10, "Photo.ndjson:1: contentKey is not"),
      Damage("Rooms", "", "{}", 4, "Rooms.ndjson: the vault has no entity of this name"),
    ])
  func mistakes(_ damage: Damage) throws {
    _ = try export("out")
    let path = "out/\(damage.file).ndjson"
    let before = try? text(path)
    let damaged = before.map { $0.replacingOccurrences(of: damage.from, with: damage.to) } ?? damage.to
    #expect(damaged != before)
    try shop.write(damaged, to: path)
    let ran = try shop.run("import", "--all", "@out", vault: "w.vault")
    #expect(ran.status == damage.status && ran.errors.contains(damage.message), "\(ran.status): \(ran.errors)")
    #expect(try shop.count("OfflineProject", vault: "w.vault") == 0)
    #expect(try shop.count("OfflineSyncQueue", vault: "w.vault") == 0)
    let left = try FileManager.default.subpathsOfDirectory(atPath: shop.path("w.vault/attachments")).filter {
      $0.contains("/")
    }
    #expect(left.isEmpty, "\(left)")
  }

  @Test("Another version of a record, and a deleted one, refuse the import") func otherVersions() throws {
    _ = try export("out")
    try shop.done("import", "--all", "@out", "-q", vault: "w.vault")
    try shop.done("put", "Room", "--uuid", Workshop.room, "title=Cellar", "-q", vault: "w.vault")
    let other = try shop.run("import", "--all", "@out", vault: "w.vault")
    #expect(
      other.status == 10
        && other.errors.contains("Room.ndjson:1: the vault has the Room \(Workshop.room) with another title"),
      "\(other.errors)")
    try shop.done("delete", "Project", Workshop.project, "--yes", "-q", vault: "w.vault")
    let deleted = try shop.run("import", "--all", "@out", vault: "w.vault")
    #expect(deleted.status == 10 && deleted.errors.contains("was deleted in this vault"), "\(deleted.errors)")
    #expect(deleted.errors.contains("fieldvault undelete Project \(Workshop.project)"))
    #expect(try shop.run("import", "--all", "@memos", vault: "w.vault").errors.contains("contains no file of records"))
    #expect(try shop.run("import", "--all", "@nowhere", vault: "w.vault").status == 1)
  }

  @Test("An imported vault sends its records and files, and an export of the account is imported as well") func sync()
    throws
  {
    let work = try SyncWorkshop()
    let project = try work.put("a.vault", "Project", "title=Elm")
    let files = ["@plan.pdf", packagePath("Tests/Data/rocket.jpg")]
    try work.shop.write([UInt8](repeating: 9, count: 200_000), to: "plan.pdf")
    for file in files { try work.shop.done("attach", "add", "Project", project, file, "-q", vault: "a.vault") }
    try work.shop.done("export", "--all", "@mine", "--yes", "-q", vault: "a.vault")
    try work.sync("a.vault")

    // A new vault of the same account has the records with the same keys, so nothing conflicts and every file opens.
    try work.shop.done("init", "--schema", "restoration", "-q", vault: "c.vault")
    try work.shop.done("import", "--all", "@mine", "-q", vault: "c.vault")
    try work.shop.done(
      "remote", "set", work.url, "--token-file", work.shop.path("token-a.vault"), "-q", vault: "c.vault")
    let round = try work.sync("c.vault")
    #expect(round["failed"] as? Int == 0 && round["conflicts"] as? Int == 0, "\(round)")
    #expect(try work.shop.done("conflicts", "list", "--json", vault: "c.vault").rows().isEmpty)
    try work.sync("b.vault")
    #expect(try work.shop.run("attach", "verify", vault: "c.vault").status == 0)
    let photos = try work.shop.done("list", "Photo", "--json", vault: "b.vault").rows()
    #expect(photos.count == 2)

    try work.shop.done("account", "export", "@account", "-q", vault: "a.vault")
    try work.shop.done("init", "--schema", "restoration", "-q", vault: "d.vault")
    let imported = try work.shop.done("import", "--all", "@account", "--json", vault: "d.vault").object()
    #expect(imported["files"] as? Int == 3 && imported["missing"] as? Int == 0, "\(imported)")
    try work.shop.done("export", "--all", "@again", "--yes", "-q", vault: "d.vault")
    let names = { (folder: String) in
      try FileManager.default.subpathsOfDirectory(atPath: work.shop.path(folder)).sorted()
    }
    #expect(try names("again") == names("mine"))
  }

  @Test(
    "The memory of an export and an import does not grow with the number of records",
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status"), "needs /proc"))
  func memory() throws {
    try fillMemos()
    for (words, vault) in [
      (["export", "--all", "@out", "--yes"], "v.vault"), (["import", "--all", "@out"], "w.vault"),
    ] {
      let ran = try shop.run(words, vault: vault, environment: ["FIELDVAULT_PAGE_CACHE": "8"], watchingMemory: true)
      #expect(ran.status == 0, "\(ran.errors)")
      #expect(ran.peakMemory > 1 << 20 && ran.peakMemory < 72 << 20, "\(words[0]): \(ran.peakMemory >> 20) MiB")
    }
    #expect(try shop.count("memo", vault: "w.vault") == 8_002)
  }

  private func fillMemos() throws {
    let fill = """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
      INSERT INTO memo (uuid, value) SELECT printf('%08d', i), printf('%04000d', i) FROM n
      """
    try shop.done("query", fill, "--write", "-q")
  }

  @Test("An interrupted export leaves no decrypted file, and an interrupted import no record") func interruption()
    throws
  {
    try fillMemos()
    let exporting = try shop.start(["export", "--all", shop.path("out"), "--yes", "-q"], input: nil)
    let draft = shop.path("out.part")
    try blockUntil("records are written") { FileManager.default.fileExists(atPath: draft + "/memo.ndjson") }
    kill(exporting.process, SIGINT)
    #expect(try exporting.wait().status == 130)
    for path in ["out", "out.part"] { #expect(!FileManager.default.fileExists(atPath: shop.path(path)), "\(path)") }

    _ = try export("all")
    let importing = try Running(
      builtProgram("fieldvault"), ["import", "--all", shop.path("all"), "-q"],
      environment: shop.environment(vault: "w.vault"))
    let log = shop.path("w.vault/db/0001/vault.db-wal")
    try blockUntil("records are imported") {
      let size = try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int
      return size ?? 0 > 1 << 20
    }
    kill(importing.process, SIGINT)
    #expect(try importing.wait().status == 130)
    #expect(try shop.count("memo", vault: "w.vault") == 0)
    #expect(try shop.count("OfflinePhoto", vault: "w.vault") == 0)
  }
}
