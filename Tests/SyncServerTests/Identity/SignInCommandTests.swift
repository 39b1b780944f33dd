import Foundation
import ServerSupport
import SyncModel
import TestSupport
import Testing

@testable import ServerStorage

/// Sign-in with tokens of an identity provider, as an operator sets it up.
@Suite struct SignInCommandTests {
  private let folder: TemporaryFolder
  private var file: String { folder.path + "/server.conf" }

  init() throws { folder = try TemporaryFolder() }

  private func write(_ text: String, _ name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/" + name))
  }

  private func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
    try await RunningServer.run(arguments, in: folder)
  }

  @Test(
    "A server accepts tokens of the keys in a file, reads the file again at SIGHUP, and keeps the keys if it is damaged"
  )
  func keyFile() async throws {
    let (first, second) = (try TokenSigner(.p384, id: "first"), try TokenSigner(.ed25519, id: "second"))
    try write(keySet([first]), "keys.json")
    try write(
      """
      data = data
      listen = 127.0.0.1:0
      schema = restoration
      jwt-issuer = https://id.example.org
      jwt-audience = fieldvault
      jwt-keys = keys.json
      jwt-account-claim = org
      jwt-role-claim = role
      """, "server.conf")
    let checked = try await run("serve", "--config", file, "--check")
    #expect(checked.status == 0 && checked.output.contains("\(folder.path)/keys.json"), "\(checked)")
    #expect(try await run("user", "add", "operator", "--account", "water", "--config", file).status == 0)
    let server = try RunningServer(["serve", "--config", file], in: folder)
    let url = try await server.url()
    let now = Int64(Date().timeIntervalSince1970 * 1_000)
    func status(_ signer: TokenSigner, _ user: String, _ more: SyncObject = ["org": "water"]) async throws -> Int {
      let token = try signer.token(claims(of: user, at: now, more))
      return try await TestClient(url: url, token: token).get("/v1/account").status
    }
    #expect(try await status(first, "ada") == 200)
    #expect(try await status(first, "ada", ["org": "water", "role": "service"]) == 200)
    let filler = SyncValue.text(String(repeating: "x", count: 5_500))
    #expect(try await status(first, "ada", ["org": "water", "filler": filler]) == 200, "a token of nearly 8 KiB")
    #expect(try await status(second, "bob") == 401, "a file has no further keys")
    #expect(try await status(first, "bob", [:]) == 401, "the claim of the account is missing")
    #expect(try await status(first, "bob", ["org": "fire"]) == 403, "the account is missing")

    // A damaged file changes nothing.
    try write(#"{"keys":[{"kty":"RSA","n":"!","e":"AQAB"}]}"#, "keys.json")
    server.signal(SIGHUP)
    try await eventually("the error is reported", every: .milliseconds(20)) {
      server.errors.contains("server.conf:6: \(folder.path)/keys.json: keys[0].n is not base64url")
    }
    #expect(server.errors.contains("cannot reload the settings; nothing was changed"))
    #expect(try await status(first, "ada") == 200)
    let broken = try await run("serve", "--config", file, "--check")
    #expect(broken.status == 1 && broken.errors.contains("keys[0].n is not base64url"), "\(broken)")

    // Rotation: the new keys count at once, without a restart.
    try write(keySet([second]), "keys.json")
    server.signal(SIGHUP)
    try await eventually("the new key counts", every: .milliseconds(20)) { try await status(second, "bob") == 200 }
    #expect(try await status(first, "ada") == 401)

    let audit = try await run("audit", "list", "--config", file)
    #expect(audit.output.contains("account water, role device, identity provider https://id.example.org"), "\(audit)")
    #expect(audit.output.contains("role service, identity provider https://id.example.org"), "\(audit)")
    let tokens = try await run("token", "list", "ada", "--config", file)
    #expect(tokens.output.contains("identity provider"), "\(tokens)")
    #expect(try await run("user", "revoke", "bob", "--config", file).status == 0)
    try await eventually("the user is revoked", every: .milliseconds(20)) { try await status(second, "bob") == 403 }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(!server.errors.contains("eyJ"), "no token is logged")
  }

  @Test("A server starts without the keys of an address, and says why they are missing")
  func unreachable() async throws {
    #expect(try await run("user", "add", "operator", "--data", folder.path + "/data").status == 0)
    let server = try RunningServer(
      [
        "serve", "--data", folder.path + "/data", "--listen", "127.0.0.1:0", "--jwt-issuer", "https://id.example.org",
        "--jwt-audience", "fieldvault", "--jwt-keys-url", "http://127.0.0.1:1/keys",
      ], in: folder)
    let url = try await server.url()
    try await eventually("the reason is logged") {
      server.errors.contains("cannot fetch the keys of the identity provider")
    }
    let token = try TokenSigner(.p256, id: "a").token(
      claims(of: "ada", at: Int64(Date().timeIntervalSince1970 * 1_000)))
    let response = try await TestClient(url: url, token: token).get("/v1/account")
    #expect(response.status == 503 && response.headers["retry-after"] != nil)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }
}
