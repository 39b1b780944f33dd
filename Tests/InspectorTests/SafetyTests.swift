import CipherSQL
import Foundation
import Platform
import RestorationModel
import TestSupport
import Testing
import VaultKeys
import VaultStore

@testable import Inspector

/// Access to the inspector.
@Suite(.serialized) struct SafetyTests {
  @Test("The link opens one browser, with a cookie that scripts and other sites cannot use")
  func link() throws {
    let inspected = try InspectedVault()
    #expect(try inspected.browser.get("/").status == 403)
    let reply = try inspected.browser.get(inspected.path)
    #expect(reply.status == 303)
    let cookie = try #require(reply.headers["set-cookie"])
    #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
    #expect(try inspected.browser.get("/").status == 200)
    // The link again: this browser goes on, another one is refused.
    #expect(try inspected.browser.get(inspected.path).status == 303)
    let other = try Browser(inspected.link)
    let refused = try other.get(inspected.path)
    #expect(refused.status == 403)
    #expect(refused.text.contains("This link was used before"))
    #expect(refused.headers["set-cookie"] == nil)
    #expect(!refused.text.contains("/records"))
  }

  @Test("No page is shown under another host name", arguments: ["evil.example", "127.0.0.1", "localhost:1"])
  func hostNames(_ host: String) throws {
    let inspected = try InspectedVault()
    #expect(try inspected.browser.get(inspected.path, host: host).status == 421)
    try inspected.enter()
    #expect(try inspected.browser.get("/", host: host).status == 421)
    #expect(try inspected.browser.get("/", host: "localhost:\(inspected.browser.port)").status == 200)
  }

  @Test("A form of another origin, without one, or with another token changes nothing")
  func foreignForms() throws {
    let inspected = try InspectedVault()
    try inspected.enter()
    let conflict = try inspected.makeConflict()
    _ = try inspected.browser.get("/conflict?id=\(conflict.id)")
    let fields = ["id": conflict.id, "take": "local"]
    let path = "/conflict/resolve"
    #expect(try inspected.browser.post(path, fields, origin: "http://evil.example").status == 403)
    #expect(try inspected.browser.post(path, fields, origin: "null").status == 403)
    #expect(try inspected.browser.post(path, fields, origin: "").status == 403)
    #expect(try inspected.browser.post(path, fields, token: String(repeating: "0", count: 64)).status == 403)
    let cookie = inspected.browser.cookie
    inspected.browser.cookie = nil
    #expect(try inspected.browser.post(path, fields).status == 403)
    #expect(try inspected.vault.conflicts().count == 1)
    inspected.browser.cookie = cookie
    #expect(try inspected.browser.post(path, fields).status == 303)
    #expect(try inspected.vault.conflicts().isEmpty)
  }

  @Test("A read-only inspector has no forms that change, and refuses them")
  func readOnly() throws {
    let inspected = try InspectedVault(isWritable: false)
    try inspected.enter()
    let conflict = try inspected.makeConflict()
    let page = try inspected.browser.get("/conflict?id=\(conflict.id)")
    #expect(page.status == 200)
    #expect(!page.text.contains("method=\"post\""))
    // The form of the doctor has a valid token.
    _ = try inspected.browser.get("/doctor")
    #expect(inspected.browser.token != nil)
    let reply = try inspected.browser.post("/conflict/resolve", ["id": conflict.id, "take": "local"])
    #expect(reply.status == 403 && reply.text.contains("The inspector is read-only"))
    #expect(try inspected.vault.conflicts().count == 1)
  }

  @Test("Every response forbids scripts, embedding and storing")
  func headers() throws {
    let inspected = try InspectedVault()
    try inspected.enter()
    for path in ["/", "/style.css", "/nowhere", "/records?entity=Nothing", "/open?key=1"] {
      let headers = try inspected.browser.get(path).headers
      let policy = headers["content-security-policy"] ?? ""
      #expect(
        policy.hasPrefix("default-src 'none'") && !policy.contains("script")
          && policy.contains("frame-ancestors 'none'"))
      #expect(headers["cache-control"] == "no-store", "\(path)")
      #expect(headers["x-content-type-options"] == "nosniff")
    }
  }

  @Test("An idle inspector locks itself and closes the vault")
  func idle() throws {
    let inspected = try InspectedVault()
    try inspected.enter()
    #expect(try inspected.browser.get("/").status == 200)
    inspected.clock.advance(by: .seconds(59))
    #expect(try inspected.browser.get("/").status == 200)
    inspected.clock.advance(by: .seconds(61))
    let page = try inspected.browser.get("/records?entity=Room")
    #expect(page.status == 403)
    #expect(page.text.contains("Locked"))
    #expect(inspected.locks.withLock { $0 } == 1)
    #expect(throws: (any Error).self) { try inspected.vault.status() }
    #expect(try inspected.browser.get(inspected.path).status == 403)
  }

  @Test("A locked inspector releases the vault, so that its keys are wiped and its key can be rotated")
  func releasedVault() async throws {
    let folder = try TemporaryFolder()
    let clock = TestClock(isRunning: false)
    let (inspector, path) = try Self.inspector(in: folder, clock)
    let link = try inspector.start("127.0.0.1:0")
    let browser = try Browser(link)
    _ = try browser.get(String(link.dropFirst("http://127.0.0.1:\(browser.port)".count)))
    #expect(try browser.get("/").status == 200)
    await #expect(throws: (any Error).self) { try await Task.detached { try rotateKey(at: path) }.value }
    clock.advance(by: .seconds(61))
    #expect(try browser.get("/").status == 403)
    try await Task.detached { try rotateKey(at: path) }.value
    await inspector.stop()
  }

  private static func inspector(in folder: TemporaryFolder, _ clock: TestClock) throws -> (Inspector, String) {
    let environment = Environment(clock: clock.clock, random: .repeatable(7))
    let path = folder.file("v.vault")
    let vault = try Vault.create(
      at: path, schemas: [(SchemaSource(name: "restoration", folder: nil), RestorationSchema.schema)],
      secret: keyFileSecret(), configuration: Configuration(environment: environment))
    var settings = Inspector.Settings()
    settings.idleSeconds = 60
    return (Inspector(vault, name: "v", settings: settings) {}, path)
  }

  @Test("Two inspectors of one vault have two sessions")
  func twoInspectors() throws {
    let first = try InspectedVault()
    let second = Inspector(first.vault, name: "second") {}
    let link = try second.start("127.0.0.1:0")
    let other = try Browser(link)
    try first.enter()
    _ = try other.get(String(link.dropFirst("http://127.0.0.1:\(other.port)".count)))
    let names = [first.browser, other].map { $0.cookie?.prefix { $0 != "=" } }
    #expect(names[0] != names[1])
    other.cookie = "\(other.cookie ?? ""); \(first.browser.cookie ?? "")"
    #expect(try other.get("/").status == 200)
    Task { await second.stop() }
  }

  @Test(
    "It listens on this machine alone",
    arguments: ["0.0.0.0:0", ":0", "192.168.1.1:0", "127.0.0.1.evil.example:0", "example.com:80", "[::]:0"])
  func loopback(_ listen: String) throws {
    let inspected = try InspectedVault()
    let inspector = Inspector(inspected.vault, name: "x") {}
    #expect(throws: (any Error).self) { try inspector.start(listen) }
  }

  @Test("A vault that was deleted meanwhile is reported as such")
  func deletedVault() throws {
    let inspected = try InspectedVault()
    try inspected.enter()
    try FileManager.default.removeItem(atPath: inspected.vault.layout.folder)
    let page = try inspected.browser.get("/")
    #expect(page.status == 410)
    #expect(page.text.contains("The vault is not there any more"))
  }
}
