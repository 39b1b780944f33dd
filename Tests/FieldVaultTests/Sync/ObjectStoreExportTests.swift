import Foundation
import RawNetwork
import ServerSupport
import TestSupport
import Testing

/// An operator's export of an account that has its records in PostgreSQL and its files in an object store. `Tests/S3/run` runs
/// these.
@Suite(.serialized, .enabled(if: ObjectStoreProcess.isThere, "Tests/S3/run runs these"))
struct ObjectStoreExportTests {
  private let temporary: TemporaryFolder
  private let server: PostgresServer
  private let database: String
  private let store: ObjectStoreProcess

  init() throws {
    temporary = try TemporaryFolder()
    server = try SharedPostgres.server
    database = try server.makeDatabase()
    store = try ObjectStoreProcess()
    try writeObjectStoreCredentials(to: temporary.file("s3.key"))
  }

  private var storeOptions: [String] {
    [
      "--s3-endpoint", store.url, "--s3-bucket", ObjectStoreProcess.bucket, "--s3-region", ObjectStoreProcess.region,
      "--s3-credentials", temporary.file("s3.key"),
    ]
  }

  private func objects(_ text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  /// The records of a device by UUID, with the UUIDs of the records that they reference.
  private func records(_ entity: String, of vault: String, in work: SyncWorkshop, _ ids: [String: [Int: String]]) throws
    -> [String: [String: Any]]
  {
    let lines = try objects(work.shop.done("export", entity, "--format", "ndjson", vault: vault).output)
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        var line = line
        for (field, uuids) in ids {
          if let id = line[field] as? Int { line[field] = uuids[id] }
        }
        return (line["uuid"] as? String ?? "", line)
      })
  }

  /// The UUIDs of a device's records by local id.
  private func ids(_ entity: String, _ field: String, of vault: String, in work: SyncWorkshop) throws -> [Int: String] {
    let lines = try objects(work.shop.done("export", entity, "--format", "ndjson", vault: vault).output)
    return Dictionary(uniqueKeysWithValues: lines.map { ($0[field] as? Int ?? 0, $0["uuid"] as? String ?? "") })
  }

  @Test(
    "An operator exports every record and file of PostgreSQL and an object store, decrypted, also with sealed values",
    arguments: [false, true])
  func export(isSealed: Bool) async throws {
    let program = try builtProgram("fieldvault-server")
    let keys = temporary.file("seal.key")
    if isSealed { #expect(try run(program, ["seal-key", "new", keys]).status == 0) }
    let sealing = isSealed ? ["--seal-key", keys] : []
    let work = try SyncWorkshop(
      source: ["--database", server.url(database)], serveOptions: storeOptions + sealing)
    let shop = work.shop

    // More records than a page of the export has, and a deleted one.
    let project = try work.put("a.vault", "Project", "title=Secret-Elm")
    let room = try work.put("a.vault", "Room", "projectId=\(project)", "title=Attic", "squareFootage=120.5")
    let notes = (0..<1_100).map { #"{"body":"Secret note \#($0) Ωß\u0001"}"# }.joined(separator: "\n")
    try shop.write(notes, to: "notes.ndjson")
    try shop.done(
      "import", "Note", "@notes.ndjson", "--set", "projectId=\(project)", "--set", "roomId=\(room)", vault: "a.vault")
    let gone = try work.put("a.vault", "Note", "projectId=\(project)", "body=gone")
    let picture = try Data(contentsOf: URL(filePath: packagePath("Tests/Data/rocket.jpg")))
    let files = [Data(bytes(1 << 20)), picture, Data("Secret text".utf8)]
    for (name, content) in zip(["plan.pdf", "rocket.jpg", "note.txt"], files) {
      try shop.write(Array(content), to: name)
      try shop.done("attach", "add", "Project", project, "@\(name)", vault: "a.vault")
    }
    try work.sync("a.vault")
    try shop.done("delete", "Note", gone, "--yes", vault: "a.vault")
    try work.sync("a.vault")
    #expect(try await store.objects().count == 4, "three files and a thumbnail")
    let dump = try server.dumpText(database)
    #expect(dump.contains("Secret-Elm") == !isSealed && dump.contains("Secret note 7") == !isSealed)

    // Another device has received all records, which it compares with the export.
    try work.sync("b.vault")
    let export = try work.operate(["account", "export", shop.path("all"), "water", "--json"] + storeOptions + sealing)
    #expect(export.status == 0, "\(export.errors)")
    let counts = try export.object()
    #expect(counts["missing"] as? Int == 0 && counts["files"] as? Int == 4, "\(counts)")
    #expect(counts["records"] as? Int == 1_105, "\(counts)")
    let references = [
      "projectId": try ids("Project", "projectId", of: "b.vault", in: work),
      "roomId": try ids("Room", "roomId", of: "b.vault", in: work),
    ]
    for (entity, count) in [("Project", 1), ("Room", 1), ("Note", 1_100), ("Photo", 3)] {
      let received = try records(entity, of: "b.vault", in: work, entity == "Project" ? [:] : references)
      let exported = try objects(String(contentsOfFile: shop.path("all/\(entity).ndjson"), encoding: .utf8))
      #expect(exported.count == count && Set(exported.map { $0["uuid"] as? String }).count == count)
      for record in exported {
        let own = try #require(received[record["uuid"] as? String ?? ""])
        let different = record.filter { field, value in own[field].map { "\($0)" } != "\(value)" }
        // A device does not export the keys of its files.
        #expect(different.keys.filter { $0 != "contentKey" } == [], "\(record) \(own)")
      }
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: shop.path("all/files"))
    let contents = try names.filter { !$0.contains("thumbnail") }.map {
      try Data(contentsOf: URL(filePath: shop.path("all/files/\($0)")))
    }
    #expect(names.count == 4 && Set(contents) == Set(files))

    // Without the store the records are complete, and the files are counted as missing.
    let without = try work.operate(["account", "export", shop.path("records"), "water", "--json"] + sealing)
    let partly = try without.object()
    #expect(without.status == 0 && partly["records"] as? Int == 1_105 && partly["missing"] as? Int == 3, "\(partly)")
    if isSealed {
      let unsealed = try work.operate(["account", "export", shop.path("none"), "water"] + storeOptions)
      #expect(unsealed.status == 3 && unsealed.errors.contains("--seal-key"), "\(unsealed.errors)")
      #expect(!FileManager.default.fileExists(atPath: shop.path("none.part")))
    }
  }
}
