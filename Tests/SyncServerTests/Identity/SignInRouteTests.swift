import CipherSQL
import Foundation
import RawNetwork
import RestorationModel
import ServerStorage
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import SyncServer

/// An identity provider that publishes its keys on this machine.
private final class KeyServer: Sendable {
  private let body: Locked<String?>
  private let server: RawServer

  init(_ body: String?) throws {
    let body = Locked(body)
    self.body = body
    server = try RawServer { _, connection in
      connection.send(body.withLock { $0 }.map { responseText($0) } ?? problem(500))
    }
  }

  var url: String { server.url + "/keys?tenant=1" }
  var fetches: Int { server.requests.count }
  /// Publishes a document; `nil` for failures.
  func publish(_ text: String?) { body.withLock { $0 = text } }
  func close() { server.close() }
}

/// Requests with tokens of an identity provider to a server, on both engines.
@Suite struct SignInRouteTests {
  private let folder: TemporaryFolder
  private let time = TestClock(1_764_000_000_000)
  private let lines = Locked<[String]>([])

  init() throws { folder = try TemporaryFolder() }

  private func server(
    isPostgres: Bool, _ keys: ProviderKeySource, limits: ServerLimits = ServerLimits()
  ) throws -> (server: FieldVaultServer, directory: any AccountDirectory) {
    var provider = IdentityProvider(issuer: "https://id.example.org", audience: "fieldvault")
    (provider.accountClaim, provider.roleClaim) = ("account", "role")
    provider.defaultAccount = "water"
    return try signInServer(
      isPostgres: isPostgres, in: folder.path, SignInSettings(provider: provider, keys: keys),
      schemas: [RestorationSchema.schema], environment: Environment(clock: time.clock, random: .system), limits: limits
    ) { [lines] line in lines.withLock { $0.append(line) } }
  }

  private func account(_ url: String, _ token: String) async throws -> JSONResponse {
    try await TestClient(url: url, token: token).get("/v1/account")
  }

  @Test(
    "Users of an identity provider sync with tokens of its keys, also after the keys rotate", arguments: [false, true])
  func signIn(isPostgres: Bool) async throws {
    let provider = try KeyServer(nil)
    defer { provider.close() }
    let (server, directory) = try server(isPostgres: isPostgres, ProviderKeySource(url: provider.url))
    let (first, second) = (try TokenSigner(.p256, id: "first"), try TokenSigner(.rsa, id: "second"))
    let token = try first.token(claims(of: "ada", at: time.now, ["exp": .integer(time.now / 1_000 + 86_400)]))

    // Without keys, tokens of this server work, and others have to wait.
    try await eventually("a failed fetch is logged") {
      lines.withLock { $0.contains { $0.contains("cannot fetch the keys of the identity provider") } }
    }
    let opaque = try directory.addToken(to: "operator", role: .device, label: nil, expires: nil).token
    #expect(try await account(server.url, opaque).status == 200)
    let early = try await account(server.url, token)
    #expect(early.status == 503 && Int(early.headers["retry-after"] ?? "") ?? 0 > 0, "\(early)")
    #expect(early.contentType == "application/problem+json")

    provider.publish(keySet([first]))
    time.advance(by: .seconds(60))
    try await eventually("the keys arrive") { try await account(server.url, token).status == 200 }
    let info = try await account(server.url, token)
    #expect(info["user"] == "ada" && info["account"] == "water" && info["role"] == "device")
    let client = TestClient(url: server.url, token: token)
    #expect(try await client.results([Operation.create("Project", newUuid(), ["title": "Dam"])]) == ["accepted"])
    #expect(try directory.users().map(\.name) == ["ada", "operator"])

    // Roles: an administrator does not push, and an unknown role is nothing.
    let admin = try first.token(claims(of: "ada", at: time.now, ["role": "admin"]))
    #expect(try await account(server.url, admin)["role"] == "admin")
    #expect(try await TestClient(url: server.url, token: admin).get("/v1/changes").status == 403)
    #expect(try await account(server.url, first.token(claims(of: "ada", at: time.now, ["role": "root"]))).status == 401)
    // No access: another account, an unknown account, a revoked user.
    let foreign = try first.token(claims(of: "ada", at: time.now, ["account": "fire"]))
    #expect(try await account(server.url, foreign).status == 403)
    let unknown = try await account(server.url, first.token(claims(of: "kim", at: time.now, ["account": "fire"])))
    #expect(unknown.status == 403 && unknown.text("detail") == "the account of the token does not exist", "\(unknown)")

    // A token of another key waits for the next fetch. A key that a fetch did not find is refused.
    let rotated = try second.token(claims(of: "bob", at: time.now, ["exp": .integer(time.now / 1_000 + 86_400)]))
    let stranger = try TokenSigner(.p256, id: "stranger")
    let strange = try stranger.token(claims(of: "eve", at: time.now, ["exp": .integer(time.now / 1_000 + 86_400)]))
    #expect(try await account(server.url, rotated).status == 503)
    #expect(try await account(server.url, strange).status == 503)
    provider.publish(keySet([first, second]))
    let fetches = provider.fetches
    time.advance(by: .seconds(61))
    try await eventually("the new key arrives") { try await account(server.url, rotated).status == 200 }
    #expect(provider.fetches == fetches + 1)
    let refused = try await account(server.url, strange)
    #expect(refused.status == 401 && refused.text("detail") == "the identity provider has no such key", "\(refused)")
    #expect(try await account(server.url, token).status == 200, "the former key is still published")
    // A fetch that fails, or brings no keys, leaves the keys.
    for body in [nil, "{}", keySet([]), String(repeating: " ", count: 300 << 10)] as [String?] {
      let fetches = provider.fetches
      provider.publish(body)
      time.advance(by: .seconds(3_600))
      try await eventually("another fetch") { provider.fetches > fetches }
      #expect(try await account(server.url, rotated).status == 200)
    }
    // A key that is not published any more is refused.
    provider.publish(keySet([second]))
    time.advance(by: .seconds(3_600))
    try await eventually("the former key is gone") { try await account(server.url, token).status != 200 }

    // Revoked, and expired.
    #expect(try await account(server.url, rotated).status == 200)
    _ = try directory.revokeUser("bob")
    try await eventually("the user is revoked") { try await account(server.url, rotated).status == 403 }
    time.advance(by: .seconds(86_400))
    let expired = try await account(server.url, rotated)
    #expect(expired.status == 401 && expired.text("detail") == "the token has expired", "\(expired)")
    #expect(expired.headers["www-authenticate"] == #"Bearer error="invalid_token""#)
    #expect(try await account(server.url, "unknown").headers["www-authenticate"] == #"Bearer error="invalid_token""#)
    #expect(
      try await TestClient(url: server.url, token: nil).get("/v1/account").headers["www-authenticate"] == "Bearer")

    await server.stop()
    directory.close()
    let log = lines.withLock { $0.joined(separator: "\n") }
    for token in [token, rotated, strange, admin, opaque] {
      for part in token.split(separator: ".") { #expect(!log.contains(part)) }
    }
    for name in ["eve", "stranger", "first"] { #expect(!log.contains(name), "\(name)") }
  }

  @Test("A request that waits ends when its token expires")
  func expiryWhileWaiting() async throws {
    let signer = try TokenSigner(.ed25519, id: nil)
    let file = folder.path + "/keys.json"
    try Data(keySet([signer]).utf8).write(to: URL(fileURLWithPath: file))
    var limits = ServerLimits()
    limits.http.watchInterval = .milliseconds(10)
    let (server, directory) = try server(isPostgres: false, ProviderKeySource(file: file), limits: limits)
    // The short token is valid for ten seconds more, by the leeway.
    let short = try signer.token(claims(of: "ada", at: time.now, ["exp": .integer(time.now / 1_000 - 50)]))
    let long = try signer.token(claims(of: "ada", at: time.now))
    let url = server.url
    func watch(_ token: String) async throws -> Task<Int?, Never> {
      let client = TestClient(url: url, token: token)
      guard case .text(let cursor)? = try await client.get("/v1/changes")["cursor"] else {
        throw Unexpected("no cursor")
      }
      return Task { try? await client.get("/v1/watch?cursor=\(cursor)&timeout=55").status }
    }
    let (ending, staying) = (try await watch(short), try await watch(long))
    try await eventually("both wait") { server.requestCount == 2 }
    time.advance(by: .seconds(12))
    #expect(await ending.value != 200)
    // The server notices the end of the connection a moment after the client.
    try await eventually("only the request of the other token, which is still valid, waits") {
      server.requestCount == 1
    }
    #expect(try await account(url, short).status == 401)
    #expect(try await account(url, long).status == 200)
    await server.stop()
    _ = await staying.value
    directory.close()
  }
}
