import CipherSQL
import Foundation
import RawNetwork
import SyncModel
import TestSupport
import Testing
import HTTPClient
import ServerSupport

@testable import FileServer
@testable import ServerStorage
@testable import SyncServer

/// A server and an object store that others wrote; the client is a test that keeps to no rule. `Tests/S3/run` runs these.
@Suite(.serialized, .enabled(if: ObjectStoreProcess.isThere, "Tests/S3/run runs these"))
struct PresignedTests {
  private let content = bytes(40_000)
  private let uuid = newUuid()
  private let clock = Locked<Int64>(0)

  func store(_ process: ObjectStoreProcess) throws -> ObjectStore {
    var store = try PresignedClient.store(process)
    store.clock = Clock(
      now: { [clock] in Clock.system.now() + clock.withLock { $0 } }, instant: Clock.system.instant,
      sleepUntil: Clock.system.sleepUntil)
    return store
  }

  private func server(
    _ process: ObjectStoreProcess, _ change: (inout ServerLimits) -> Void = { _ in }
  ) throws -> TestServer {
    try TestServer(objectStore: try store(process), change)
  }

  private func ask(
    _ client: TestClient, _ bytes: [UInt8]? = nil, type: String = "image/jpeg", as content: String? = nil
  ) async throws -> JSONResponse {
    try await PresignedClient.ask(client, bytes ?? self.content, type: type, as: content ?? uuid)
  }

  /// Sends a file to an address with its headers, except for changes by a test.
  func send(
    _ address: JSONResponse, _ bytes: [UInt8]? = nil, _ change: (inout [String: String]) -> Void = { _ in }
  ) async throws -> HTTPResponse {
    try await PresignedClient.send(address, bytes ?? content, change)
  }

  private func get(_ address: JSONResponse, range: String? = nil) async throws -> HTTPResponse {
    let parsed = try FileAddress(wire: address.json)
    var request = HTTPRequest(parsed.url, isAuthorized: false)
    if let range { request.headers = [("Range", range)] }
    return try await PresignedClient.transport(parsed.url).send(request)
  }

  private func confirm(_ client: TestClient, _ upload: String, as content: String? = nil) async throws -> JSONResponse {
    try await client.request("POST", "/v1/files/\(content ?? uuid)/full/confirm", ["upload": .text(upload)])
  }

  private func download(_ client: TestClient, _ content: String? = nil) async throws -> JSONResponse {
    try await client.request("POST", "/v1/files/\(content ?? uuid)/full/download-address", [:])
  }

  private func missing(_ client: TestClient) async throws -> Int {
    try await client.request("POST", "/v1/files/missing", ["files": [.text("\(uuid)/full")]]).list("missing").count
  }

  /// Sends a whole file and has it confirmed.
  private func upload(_ client: TestClient, _ bytes: [UInt8]? = nil, as content: String? = nil) async throws {
    let address = try await ask(client, bytes, as: content)
    #expect(address.status == 200)
    #expect(try await send(address, bytes).status == 200)
    #expect(try await confirm(client, address.text("upload"), as: content).status == 200)
  }

  @Test("A file becomes visible to its account after the upload is confirmed")
  func aFileIsSeenByOthersWhenItIsConfirmed() async throws {
    let process = try ObjectStoreProcess()
    let server = try server(process)
    let (ada, bo) = (try server.client("ada"), try server.client("bo"))
    let stranger = try server.client("eve", account: "fire")
    let options = try await FileClient(ada).request("OPTIONS", "/v1/files", ["Authorization": "-"])
    #expect(options.status == 204 && options.headers["fieldvault-uploads"] == "presigned")
    #expect(options.headers["fieldvault-max-size"] == String(5 << 30))
    let address = try await ask(ada)
    #expect(address.status == 200 && address.text("method") == "PUT")
    #expect(try await missing(ada) == 1)
    #expect(try await confirm(ada, address.text("upload")).text("type") == "urn:fieldvault:not-sent")
    #expect(try await send(address).status == 200)
    #expect(try await download(bo).status == 404)
    // Another user who names the upload learns nothing about it.
    for other in [bo, stranger] { #expect(try await confirm(other, address.text("upload")).status == 404) }
    #expect(try await confirm(ada, address.text("upload"), as: newUuid()).status == 404)
    // After a lost response the request is repeated.
    for _ in 0..<2 { #expect(try await confirm(ada, address.text("upload")).status == 200) }
    #expect(try await missing(bo) == 0)
    #expect(try await missing(stranger) == 1)
    #expect(try await ask(bo).text("type") == "urn:fieldvault:content-exists")
    let found = try await download(bo)
    #expect(found.status == 200 && found.text("method") == "GET")
    let whole = try await get(found)
    #expect(whole.body == content && whole.contentType == "application/octet-stream")
    let part = try await get(found, range: "bytes=39990-")
    #expect(part.status == 206 && part.body == Array(content.suffix(10)))
    #expect(try await download(stranger).status == 404)
    #expect(try await bo.get("/v1/files/\(uuid)/full").text("type") == "urn:fieldvault:in-object-store")
    #expect(try await stranger.get("/v1/files/\(uuid)/full").status == 404)
    // Keys contain no information, and the store accepts every signed request.
    let keys = try await process.objects()
    #expect(keys.count == 1 && keys[0].wholeMatch(of: /[0-9a-f]{32}\/[0-9a-f]{32}/) != nil && !keys[0].contains(uuid))
    #expect(try await process.refusals() == [])
    await server.server.stop()
  }

  @Test("A file of wrong size, type or name gets no address") func whatIsNotForTheStoreGetsNoAddress() async throws {
    let process = try ObjectStoreProcess()
    let server = try server(process) { limits in
      limits.files.fileBytes = 50_000
      limits.files.contentTypes = ContentTypes(["image/jpeg"])
    }
    let ada = try server.client("ada")
    let large = try await ask(ada, bytes(50_001))
    #expect(large.status == 413 && large.text("field") == "bytes" && large.contentType == "application/problem+json")
    let type = try await ask(ada, type: "image/png")
    #expect(
      type.status == 415 && type.text("field") == "contentType" && type.text("type") == "urn:fieldvault:content-type")
    #expect(try await ask(ada, type: "image/jpeg; a=b").status == 422)
    func status(_ body: SyncValue) async throws -> Int {
      try await ada.request("POST", "/v1/files/\(uuid)/full/address", body).status
    }
    #expect(try await status(["bytes": -1, "sha256": "", "contentType": "image/jpeg"]) == 400)
    #expect(try await status(["bytes": 1, "sha256": "AAAA", "contentType": "image/jpeg"]) == 422)
    #expect(try await status([]) == 400)
    for path in ["\(uuid)/other", "../../full", "\(uuid.uppercased())/full", "uploads/x"] {
      #expect(try await ada.request("POST", "/v1/files/\(path)/address", [:]).status == 404)
    }
    let tus = try await FileClient(ada).request("POST", "/v1/files", ["Upload-Length": "1"])
    #expect(tus.status == 405)
    #expect(try await process.count("HEAD") == 0)
    await server.server.stop()
  }

  /// The store refuses other types, lengths or contents than the announced ones, and every request after ten minutes.
  @Test("A presigned address accepts only its file and only for ten minutes") func anAddressIsForOneFileAndForAWhile()
    async throws
  {
    let process = try ObjectStoreProcess()
    let server = try server(process)
    let ada = try server.client("ada")
    let address = try await ask(ada)
    #expect(try await send(address) { $0["Content-Type"] = "text/html" }.status == 403)
    #expect(try await send(address, bytes(40_001)).status == 403)
    #expect(try await send(address, bytes(40_000, seed: 2)).status == 400)
    #expect(try await send(address) { $0["x-amz-acl"] = "public-read" }.status == 403)
    clock.withLock { $0 = -11 * 60_000 }
    #expect(try await send(try await ask(ada)).status == 403)
    #expect(
      try await process.refusals() == [
        "SignatureDoesNotMatch", "SignatureDoesNotMatch", "BadDigest", "AccessDenied", "AccessDenied",
      ])
    #expect(try await process.objects() == [])
    clock.withLock { $0 = -9 * 60_000 }
    let late = try await ask(ada)
    #expect(late.text("upload") == address.text("upload"), "the same file keeps its place")
    #expect(try await send(late).status == 200)
    await server.server.stop()
  }

  /// A store that takes everything, as moto alone does: then the server looks.
  @Test("An object that differs from the announcement is not confirmed") func whatIsNotWhatWasAnnouncedIsNotConfirmed()
    async throws
  {
    let process = try ObjectStoreProcess(isPlain: true)
    let server = try server(process)
    let ada = try server.client("ada")
    let other = PresignedClient.digest(bytes(40_000, seed: 2))
    let wrong: [(String, [UInt8], (inout [String: String]) -> Void)] = [
      ("contentType", content, { $0["Content-Type"] = "image/png" }),
      ("bytes", bytes(39_999), { _ in }),
      ("sha256", bytes(40_000, seed: 2), { $0["x-amz-checksum-sha256"] = other }),
    ]
    for (member, bytes, change) in wrong {
      let address = try await ask(ada)
      #expect(try await send(address, bytes, change).status == 200)
      let refused = try await confirm(ada, address.text("upload"))
      #expect(refused.status == 409 && refused.text("type") == "urn:fieldvault:object-mismatch")
      #expect(refused.text("field") == member)
      #expect(try await confirm(ada, address.text("upload")).status == 404, "it is given up")
    }
    #expect(try await missing(ada) == 1)
    try await upload(ada)
    await server.server.stop()
  }

  @Test("The quota is checked before an address is given") func theQuotaHoldsBeforeAnAddressIsGiven() async throws {
    let process = try ObjectStoreProcess()
    let server = try server(process) { $0.files.quotaBytes = 100_000 }
    let ada = try server.client("ada")
    let first = try await ask(ada)
    #expect(first.status == 200)
    // The same once more is no more; another is.
    #expect(try await ask(ada).status == 200)
    let full = try await ask(ada, bytes(60_000), as: newUuid())
    #expect(full.status == 507 && full.text("type") == "urn:fieldvault:quota-exceeded")
    #expect(try await ask(try server.client("bo"), bytes(60_000), as: newUuid()).status == 200)
    #expect(try await send(first).status == 200)
    #expect(try await confirm(ada, first.text("upload")).status == 200)
    #expect(try await ask(ada, bytes(60_000), as: newUuid()).status == 507, "it counts once it is there, too")
    #expect(try await ask(ada, bytes(40_000), as: newUuid()).status == 200)
    await server.server.stop()
  }

  @Test("An unreachable object store is reported as 503, and no file is reported missing")
  func aStoreThatIsAwayIsToldAndNothingIsLost() async throws {
    let process = try ObjectStoreProcess()
    let server = try server(process)
    let ada = try server.client("ada")
    let address = try await ask(ada)
    #expect(try await send(address).status == 200)
    try await process.gate(["mode": "unavailable"])
    let later = try await confirm(ada, address.text("upload"))
    #expect(later.status == 503 && later.headers["retry-after"] == "30")
    #expect(later.text("type") == "urn:fieldvault:store-not-reached")
    #expect(try await ada.get("/v1/account").status == 200)
    try await process.gate(["mode": "pass"])
    #expect(try await confirm(ada, address.text("upload")).status == 200)
    process.stop()
    #expect(
      try await ada.request("POST", "/v1/files/missing", ["files": [.text("\(uuid)/full")]]).status == 503,
      "nobody is told that a file is gone that may be there")
    let lines = server.lines.withLock { $0 }
    #expect(lines.contains { $0.contains("the object store: HEAD returned status 503") })
    #expect(!lines.contains { $0.contains("X-Amz") || $0.contains(ObjectStoreProcess.secret) })
    await server.server.stop()
  }

  @Test("An object that the store lost is missing and can be sent again") func whatTheStoreHasLostIsMissingAndMakesWay()
    async throws
  {
    let process = try ObjectStoreProcess()
    let server = try server(process)
    let ada = try server.client("ada")
    try await upload(ada)
    try await process.gate(["lose": true])
    #expect(try await missing(ada) == 1)
    #expect(try await download(ada).status == 404)
    try await upload(ada)
    #expect(try await missing(ada) == 0)
    // The first request finds it out.
    try await process.gate(["lose": true])
    #expect(try await download(ada).status == 404)
    try await upload(ada)
    try await process.gate(["lose": true])
    try await upload(ada)
    await server.server.stop()
  }

  /// Files from before there was an object store are fetched from the server; those in it are not lost when it is not named.
  @Test("A server can start to use an object store later and keeps serving older files")
  func aServerMayBeginWithAnObjectStoreLater() async throws {
    let process = try ObjectStoreProcess()
    let folder = try TemporaryFolder()
    let old = try TestServer(in: folder)
    let ada = try old.client("ada")
    #expect(try await ask(ada).status == 404)
    try await FileClient(ada).upload(content, as: uuid)
    await old.server.stop()
    let new = try TestServer(in: folder, objectStore: try store(process))
    let client = TestClient(url: new.server.url, token: ada.token)
    #expect(try await missing(client) == 0)
    #expect(try await download(client).text("url") == "/v1/files/\(uuid)/full")
    #expect(try await FileClient(client).fetch(uuid).body == content)
    #expect(try await ask(client).status == 409)
    let other = newUuid()
    try await upload(client, as: other)
    await new.server.stop()
    let again = try TestServer(in: folder)
    #expect(try await FileClient(TestClient(url: again.server.url, token: ada.token)).fetch(other).status == 404)
    await again.server.stop()
    let last = try TestServer(in: folder, objectStore: try store(process))
    #expect(try await download(TestClient(url: last.server.url, token: ada.token), other).status == 200)
    await last.server.stop()
  }

  /// Abandoned uploads and contents of forgotten records are removed, also after the store was unreachable.
  @Test("Abandoned and unused objects are removed, also after the store was unreachable")
  func objectsGoWhenNothingNeedsThem() async throws {
    let process = try ObjectStoreProcess()
    let folder = try TemporaryFolder()
    let account = AccountName(name: "one", folder: "00000000000000000000000000000001")
    let disk = DiskFileStorage(in: try serverFolder(folder.path + "/data", accounts: [account.folder]))
    let files = ObjectFiles(
      store: try store(process), database: EmbeddedObjects(disk), log: .silent,
      environment: .system)
    func begin() async throws -> (name: ContentName, id: String) {
      let name = ContentName(content: newUuid(), variant: .full)
      let new = ObjectFiles.New(
        userId: 1, name: name, byteCount: 40_000, sha256: PresignedClient.digest(content), contentType: "image/jpeg")
      let address = try await files.begin(account, new, quota: .max, expiry: 1_000)
      let response = JSONResponse(status: 200, contentType: "", headers: [:], json: address.wire)
      #expect(try await send(response).status == 200)
      return (name, try #require(address.upload))
    }
    func finished() async throws -> ContentName {
      let (name, id) = try await begin()
      try await files.confirm(account, name, by: 1, id, at: 100)
      return name
    }
    let (kept, dropped, waiting) = (try await finished(), try await finished(), try await finished())
    let lost = try await begin()
    #expect(try await process.objects().count == 4)
    let far = Date.nowInMilliseconds().milliseconds + 3_600_000
    var time = far
    func sweep(_ names: [ContentName]) async throws {
      time += FileSweep.grace
      let uuids = Set(names.map(\.content))
      try await files.sweep(
        account, SweepRule(at: time, neverUsedBefore: 100) { Set($0).intersection(uuids) })
    }
    try await sweep([kept, dropped])
    try await sweep([kept])
    #expect(try await process.objects().count == 4)
    try await process.gate(["mode": "unavailable"])
    await #expect(throws: ObjectFiles.Refusal.self) { try await sweep([kept]) }
    try await process.gate(["mode": "pass"])
    #expect(try await files.addressToFetch(account, dropped) != nil, "without the store nothing is let go")
    try await sweep([kept])
    #expect(try await files.addressToFetch(account, dropped) == nil, "it is gone for everybody at once")
    try await files.expire(account, at: 999)
    // While its address is good something may still come.
    #expect(try await process.objects().count == 3)
    try await files.expire(account, at: far)
    #expect(try await process.objects().count == 2)
    await #expect(throws: FileRefusal.gone) { try await files.confirm(account, lost.name, by: 1, lost.id, at: 100) }
    for name in [kept, waiting] { #expect(try await files.content(account, name) != nil) }
    #expect(try await disk.usedBytes(account, by: 1) == 2 * (40_000 + 4_096))
    for _ in 0..<3 {
      time += FileSweep.grace
      try await files.sweep(account, SweepRule(at: time, neverUsedBefore: 101) { _ in [] })
    }
    #expect(try await process.objects() == [])
    #expect(try await disk.usedBytes(account, by: 1) == 0)
    #expect(try await process.refusals() == [])
    disk.close()
  }

  /// Two devices of an account send the same content; one is first, and the bytes of the other go.
  @Test("The first of two uploads of a content wins") func theFirstOfTwoWins() async throws {
    let process = try ObjectStoreProcess()
    let server = try server(process)
    let (ada, bo) = (try server.client("ada"), try server.client("bo"))
    let (first, second) = (try await ask(ada), try await ask(bo))
    #expect(first.text("upload") != second.text("upload"))
    for address in [first, second] { #expect(try await send(address).status == 200) }
    #expect(try await confirm(bo, second.text("upload")).status == 200)
    #expect(try await confirm(ada, first.text("upload")).text("type") == "urn:fieldvault:content-exists")
    #expect(try await confirm(ada, first.text("upload")).text("type") == "urn:fieldvault:content-exists")
    #expect(try await get(try await download(ada)).body == content)
    await server.server.stop()
  }
}
