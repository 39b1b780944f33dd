import CipherSQL
import Foundation
import PostgresStorage
import RawNetwork
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import FileServer
@testable import SQLCipherStorage
@testable import ServerStorage
@testable import SyncServer

/// The deletion of an account with all of its data.
@Suite(.serialized) struct AccountDeletionTests {
  private static let engines = MemberServer.Engine.allCases

  private func directory(_ server: MemberServer, _ name: String, _ role: TokenRole, account: String = "water") throws
    -> TestClient
  {
    TestClient(
      url: server.server.url,
      token: try server.directory.addUser(name, account: account, role: role, expires: nil).token)
  }

  private func removed(_ server: MemberServer) async throws {
    try await eventually("the data are removed") { try server.directory.deletions().isEmpty }
  }

  @Test("Only an administrator or the only user of an account deletes it", arguments: engines)
  func whoDeletes(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false)
    let (ada, boss) = (try await server.user("ada"), try directory(server, "boss", .admin))
    let cid = try directory(server, "cid", .device, account: "fire")
    #expect(try await cid.results([Operation.create("Project", newUuid(), ["title": "Barn"])]) == ["accepted"])
    for client in [ada, server.office!] {
      let refused = try await client.request("DELETE", "/v1/account")
      #expect(refused.status == 403 && refused.text("title") == "The account has other users")
    }
    #expect(try await ada.get("/v1/account").status == 200)
    #expect(try server.directory.auditLog(since: nil, atMost: 100).allSatisfy { $0.action != "account deleted" })

    let deleted = try await boss.request("DELETE", "/v1/account")
    #expect(deleted.status == 200 && deleted["rows"] == 1 && deleted["files"] == 0, "\(deleted.json)")
    for client in [ada, boss, server.office!] {
      #expect(try await client.get("/v1/account").status == 401)
      #expect(try await client.request("DELETE", "/v1/account").status == 401)
    }
    try await removed(server)
    #expect(try server.directory.accounts().map(\.name) == ["fire"])
    #expect(try server.directory.users().map(\.name) == ["cid"])

    // The other account is whole, and its only user deletes it.
    #expect(try await cid.pull().changes.count == 1)
    #expect(try await cid.request("DELETE", "/v1/account")["rows"] == 1)
    try await removed(server)
    #expect(try server.directory.accounts() == [])

    // The names are free again, and the new account is empty.
    let again = try directory(server, "ada", .device)
    #expect(try await again.pull().changes.isEmpty)
    await server.stop()
  }

  @Test("The audit log names no user of a deleted account, and tells who deleted it", arguments: engines)
  func auditLog(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false)
    let boss = try directory(server, "boss", .admin)
    _ = try server.directory.addToken(to: "boss", role: .device, label: "tablet", expires: nil)
    _ = try directory(server, "cid", .device, account: "fire")
    #expect(try await boss.request("POST", "/v1/account/export", [:]).status == 200)
    let account = try #require(try server.directory.accounts().first { $0.name == "water" })
    let number = try #require(try server.directory.member(token: boss.token ?? "")).userId
    let before = try server.directory.auditLog(since: nil, atMost: 100)
    #expect(before.contains { $0.action == "account exported" && $0.actor == "user boss" })
    #expect(try await boss.request("DELETE", "/v1/account").status == 200)
    try await removed(server)
    let log = try server.directory.auditLog(since: nil, atMost: 100)
    let text = "\(log)"
    #expect(!text.contains("boss") && !text.contains("tablet") && !text.contains("office"), "\(text)")
    let named = "account water, id \(account.folder)"
    #expect(
      log.filter { $0.details == named }.map(\.action).suffix(3) == [
        "account exported", "account deleted", "account removed",
      ])
    #expect(
      log.filter { $0.actor == "deleted user \(number)" }.map(\.action) == ["account exported", "account deleted"])
    #expect(log.contains { $0.user == "deleted user \(number)" && $0.action == "token added" && $0.details == named })
    #expect(log.contains { $0.user == "cid" && $0.details == "account fire, role device" })
    await server.stop()
  }

  @Test(
    "An account that is being deleted takes neither users nor settings, and its deletion continues", arguments: engines)
  func interrupted(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false)
    let ada = try await server.user("ada")
    let (project, _) = try await server.makeProject(by: ada)
    let open = try await ada.pull().cursor
    // The process ends behind the first step.
    let account = try server.directory.beginDeletion(of: "water", by: nil)
    #expect(try server.directory.deletions() == [account])
    #expect(try await ada.get("/v1/account").status == 401)
    #expect(try await ada.get("/v1/changes?cursor=\(open)").status == 401)
    for change in [
      { _ = try server.directory.addUser("new", account: "water", role: .device, expires: nil) },
      { _ = try server.directory.setMembership(true, of: "water") },
    ] { #expect(throws: ServerError.self) { try change() } }
    #expect(try server.directory.listedAccounts().isEmpty && server.directory.users().isEmpty)

    // Two processes continue at once, and both again.
    let (source, directory) = (server.source, server.directory)
    let remove = { @Sendable in
      let deletions = AccountDeletions(source, directory: directory)
      defer { deletions.close() }
      return try await deletions.remove(account)
    }
    async let (first, second) = (remove(), remove())
    #expect(try await (first, second) == (true, true))
    #expect(try server.directory.deletions().isEmpty)
    #expect(throws: ServerError.self) { try server.directory.beginDeletion(of: "water", by: nil) }
    let removals = try server.directory.auditLog(since: nil, atMost: 100).filter { $0.action == "account removed" }
    #expect(removals.count == 1)
    #expect(!project.isEmpty)
    await server.stop()
  }

  @Test("A request that began before the deletion of its account changes nothing afterwards", arguments: engines)
  func runningRequest(_ engine: MemberServer.Engine) async throws {
    let server = try MemberServer(engine, isLimited: false)
    _ = try await server.user("ada")
    let account = try #require(try server.directory.accounts().first)
    _ = try server.directory.beginDeletion(of: "water", by: nil)
    let deletions = AccountDeletions(server.source, directory: server.directory)
    #expect(try await deletions.remove(account))
    deletions.close()
    await #expect(throws: ServerError.self) {
      try await server.server.storage.write(account) { _ = try $0.startEpoch(at: 0) }
    }
    await #expect(throws: ServerError.self) { try await server.server.storage.read(account) { try $0.lastSequence } }
    await server.stop()
  }

  @Test("Another node refuses the tokens of a deleted account") func otherNode() async throws {
    let server = try MemberServer(.postgres, isLimited: false)
    let node = try server.startNode()
    let boss = try directory(server, "boss", .admin)
    let other = TestClient(url: node.url, token: boss.token)
    #expect(try await other.get("/v1/account").status == 200)
    #expect(try await boss.request("DELETE", "/v1/account").status == 200)
    try await eventually("the other node learns of it") { try await other.get("/v1/account").status == 401 }
    await node.stop()
    await server.stop()
  }

  // MARK: Remains

  /// Returns all bytes of a folder: files as they are, and databases also decrypted.
  private func remains(of folder: ServerFolder) throws -> [(name: String, bytes: [UInt8])] {
    var result: [(String, [UInt8])] = []
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    for name in names where !Files.isFolder("\(folder.path)/\(name)") {
      let path = "\(folder.path)/\(name)"
      result.append((name, Array(name.utf8) + Array(try Data(contentsOf: URL(filePath: path)))))
      guard name.hasSuffix(".db") else { continue }
      let parts = name.split(separator: "/").map(String.init)
      let keyName =
        parts.count == 1
        ? "directory" : folder.databases.first { $0.fileName == parts[2] }?.keyName(parts[1]) ?? ""
      let key = try folder.key.databaseKey(keyName).withKeyBytes { Array($0) }
      result.append((name + " decrypted", try decryptedPages(ofDatabaseAt: path, key: key)))
    }
    return result
  }

  private func found(_ markers: [String], in remains: [(name: String, bytes: [UInt8])]) -> Set<String> {
    Set(markers.filter { marker in remains.contains { Data($0.bytes).range(of: Data(marker.utf8)) != nil } })
  }

  @Test("After the deletion no page, file or log of a server folder contains a planted marker")
  func remainsOfFolder() async throws {
    let server = try MemberServer(.folder, isLimited: false)
    let folder = try #require(server.data)
    _ = try directory(server, "cid", .device, account: "fire")
    let (boss, markers, content) = try await server.plantMarkers()
    // So many that the pages of the directory split, which copies rows.
    for number in 0..<150 {
      _ = try server.directory.addUser("\(markers[.user]) \(number)", account: "water", role: .device, expires: nil)
    }
    let files = FileClient(boss)
    try await files.upload(Array(markers[.content].utf8) + bytes(5_000), as: content)
    let begun = try await files.begin(
      50_000, as: newUuid(), "full",
      [
        "Upload-Metadata": FileClient.metadata([
          "content": newUuid(), "variant": "full", "filename": markers[.fileName],
        ])
      ])
    #expect(begun.status == 201)
    let part = Array(markers[.upload].utf8) + bytes(30_000)
    #expect(try await files.patch(begun.location, at: 0, part).offset == part.count)
    #expect(try found(markers.all, in: remains(of: folder)) == Set(markers.all), "the search finds what is there")

    let deletions = AccountDeletions(server.source, directory: server.directory)
    let (account, contents) = try await deletions.begin("water", by: nil)
    #expect(contents.rows == 4 && contents.files == 2 && contents.responses >= 6, "\(contents)")
    #expect(try await deletions.remove(account))
    deletions.close()
    #expect(try found(markers.all, in: remains(of: folder)) == [], "while the server runs")
    await server.stop()
    #expect(try found(markers.all, in: remains(of: folder)) == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/accounts").count == 1)
    #expect(try folder.verify().findings == [])
  }

  @Test("After the deletion a dump of PostgreSQL contains no planted marker")
  func remainsOfDatabase() async throws {
    let server = try MemberServer(.postgres, isLimited: false)
    let (boss, markers, _) = try await server.plantMarkers()
    let account = try #require(try server.directory.member(token: boss.token ?? "")).account
    guard case .database(let database, _) = server.source, let name = server.databaseName else { return }
    let objects = PostgresObjects(database)
    // Rows of a file and of an unfinished upload. Their bytes would be in an object store, which this server does not have.
    @Sendable func upload(_ id: String, _ type: String) -> ObjectUpload {
      ObjectUpload(
        id: id, userId: 1, name: ContentName(content: newUuid(), variant: .full), byteCount: 5, sha256: "",
        contentType: type)
    }
    try await objects.write(account) { rows in
      for (id, type) in [("1", markers[.content]), ("2", markers[.upload])] {
        try rows.insert(upload(id, type), addressEnd: 0, expiry: .max)
      }
      try rows.replaceUpload("1", byContent: VerifiedContent(sha256: markers[.content], contentDigest: nil), at: 0)
    }
    let shared = try SharedPostgres.server
    // More rows than one transaction removes.
    try shared.sql(
      """
      INSERT INTO fieldvault.tombstone
      SELECT account_id, 'Room', number::text, 0 FROM fieldvault.account, generate_series(1, 1200) AS number
      """, database: name)
    func found() throws -> Set<String> {
      let dump = try shared.dumpText(name)
      return Set(markers.all.filter(dump.contains))
    }
    #expect(try found() == Set(markers.all), "the search finds what is there")
    let deletions = AccountDeletions(server.source, directory: server.directory)
    let (_, contents) = try await deletions.begin("water", by: nil)
    #expect(contents.rows == 4 && contents.files == 2 && contents.responses >= 6, "\(contents)")
    #expect(try await !deletions.remove(account), "objects wait for a server with the store")
    #expect(try found() == [])
    #expect(try server.directory.deletions() == [account])
    // The rest of the deletion names the objects only.
    try await objects.write(account) { try $0.removed(["1", "2"]) }
    #expect(try await deletions.remove(account))
    let rows = try shared.sql(
      "SELECT sum((xpath('/row/c/text()', query_to_xml('SELECT count(*) AS c FROM ' || relid::regclass || ' WHERE account_id IS NOT NULL', false, true, '')))[1]::text::int) FROM pg_stat_user_tables JOIN pg_attribute ON attrelid = relid AND attname = 'account_id' WHERE schemaname = 'fieldvault'",
      database: name)
    #expect(rows == "0", "no table has a row of an account")
    await server.stop()
  }

  @Test(
    "After the command of an operator neither PostgreSQL nor the object store contains a planted marker",
    .enabled(if: ObjectStoreProcess.isThere, "Tests/S3/run runs this"))
  func remainsOfObjectStore() async throws {
    let process = try ObjectStoreProcess()
    // The deletion waits until the last address has expired.
    let store = try PresignedClient.store(process, addressSeconds: 1)
    let server = try MemberServer(.postgres, isLimited: false, objectStore: store)
    let shared = try SharedPostgres.server
    guard let name = server.databaseName else { return }
    let (boss, markers, content) = try await server.plantMarkers()
    _ = try directory(server, "cid", .device, account: "fire")
    let (sent, open) = (Array(markers[.content].utf8) + bytes(5_000), Array(markers[.upload].utf8) + bytes(3_000))
    let address = try await PresignedClient.ask(boss, sent, as: content)
    #expect(try await PresignedClient.send(address, sent).status == 200)
    let confirmed = try await boss.request(
      "POST", "/v1/files/\(content)/full/confirm", ["upload": .text(address.text("upload"))])
    #expect(confirmed.status == 200, "\(confirmed)")
    let unconfirmed = try await PresignedClient.ask(boss, open, as: newUuid())
    #expect(try await PresignedClient.send(unconfirmed, open).status == 200)

    /// The markers in the database, and in the keys and contents of all objects.
    func found() async throws -> Set<String> {
      var objects: [(name: String, bytes: [UInt8])] = []
      for key in try await process.objects() {
        let object = Locked<[UInt8]>([])
        #expect(try await store.read(key) { bytes in object.withLock { $0 += bytes } })
        objects.append((key, Array(key.utf8) + object.withLock { $0 }))
      }
      return try self.found(markers.all, in: objects + [("dump", Array(shared.dumpText(name).utf8))])
    }
    #expect(try await found() == Set(markers.all), "the search finds what is there")
    let account = try #require(try server.directory.accounts().first { $0.name == "water" })
    let temporary = try TemporaryFolder()
    let ran = try await RunningServer.run(
      ["account", "delete", "water", "--database", shared.url(name), "--json"], in: temporary)
    #expect(ran.status == 0 && ran.output.contains(#""files":2"#), "\(ran)")
    #expect(ran.output.contains(#""finished":false"#), "the servers remove the objects")
    #expect(try await found() == [markers[.content], markers[.upload]], "the objects are left to the servers")
    // A node looks for deletions when it starts.
    let node = try server.startNode()
    try await eventually("the node removes the objects") { try await process.objects().isEmpty }
    try await removed(server)
    #expect(try await found() == [])
    for key in [address, unconfirmed].map({ "\(account.folder)/\($0.text("upload"))" }) {
      #expect(try await store.find(key) == nil)
    }
    #expect(try server.directory.accounts().map(\.name) == ["fire"])
    await node.stop()
    await server.stop()
  }
}
