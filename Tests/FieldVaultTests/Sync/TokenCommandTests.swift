import Foundation
import RawNetwork
import TestSupport
import Testing

/// Tokens from a command, certificates of a company, and proxies.
@Suite(.serialized) struct TokenCommandTests {
  @Test("A token command is used at once, and again when the server refuses the token") func renewed() throws {
    let work = try SyncWorkshop()
    let shop = work.shop
    let command = "cat \(shop.path("token-a.vault"))"
    try shop.done("remote", "set", work.url, "--token-command", command, vault: "a.vault")
    let shown = try shop.done("remote", "show", "--json", vault: "a.vault").object()
    #expect(shown["tokenCommand"] as? String == command && shown["hasToken"] as? Bool == true)
    #expect(try shop.done("remote", "show", vault: "a.vault").output.contains("command  \(command)\n"))
    _ = try work.put("a.vault", "Project", "title=Elm")
    #expect(try work.sync("a.vault")["pushed"] as? Int == 1)
    _ = try work.administer("user", "revoke", "ada")
    _ = try work.put("a.vault", "Project", "title=Oak")
    // The command returns the refused token, so there is no other.
    let refused = try shop.run("sync", vault: "a.vault")
    #expect(refused.status == 11 && refused.errors.contains("does not accept the token"), "\(refused.errors)")
    try shop.write(try work.administer("token", "add", "ada"), to: "token-a.vault")
    #expect(try work.sync("a.vault")["pushed"] as? Int == 1)
    // The new token is stored.
    try FileManager.default.removeItem(atPath: shop.path("token-a.vault"))
    #expect(try shop.run("sync", vault: "a.vault").status == 0)
  }

  @Test("A token command without a check is run by the first sync, and its failure changes nothing") func failures()
    throws
  {
    let work = try SyncWorkshop()
    let shop = work.shop
    let before = try shop.done("remote", "show", "--json", vault: "a.vault").output
    for (command, message) in [
      ("echo 'fv_secret'; exit 3", "the token command ended with exit code 3"),
      ("echo why >&2; exit 4", "why\n"), ("true", "the token command printed nothing in its first line"),
      ("head -c 70000 /dev/zero | tr '\\0' x", "the token command printed more than 64 KiB"),
      ("kill -9 $$", "the token command was ended by signal 9"),
      ("echo 'fv_secret word'", "white space or characters other than printable ASCII"),
      ("echo fv_secret", "the server does not accept the token (status 401): the token is unknown, revoked or expired"),
    ] {
      let ran = try shop.run("remote", "set", work.url, "--token-command", command, vault: "a.vault")
      #expect(ran.status == 11 && ran.errors.contains(message), "\(command): \(ran.errors)")
      #expect(!(ran.errors + ran.output).contains("fv_secret") && ran.errors.contains("the server was not set"))
      #expect(ran.errors.contains("hint:  the first line that the token command prints must be a token"))
      #expect(try shop.done("remote", "show", "--json", vault: "a.vault").output == before)
      try shop.done("remote", "set", work.url, "--token-command", command, "--no-check", vault: "b.vault")
      let synced = try shop.run("sync", vault: "b.vault")
      #expect(synced.status == 11 && synced.errors.contains(message), "\(command): \(synced.errors)")
      #expect(!(synced.errors + synced.output).contains("fv_secret"))
    }
    #expect(try shop.run("sync", vault: "a.vault").status == 0)
  }

  @Test("A token command and a token file replace each other, and logout and unset remove both") func replaced() throws
  {
    let work = try SyncWorkshop()
    let shop = work.shop
    let (file, command) = (shop.path("token-a.vault"), "cat \(shop.path("token-a.vault"))")
    func shown() throws -> (command: String?, hasToken: Bool?) {
      let shown = try shop.done("remote", "show", "--json", vault: "a.vault").object()
      return (shown["tokenCommand"] as? String, shown["hasToken"] as? Bool)
    }
    let both = try shop.run(
      "remote", "set", work.url, "--token-command", command, "--token-file", file, vault: "a.vault")
    #expect(both.status == 2, "\(both.errors)")
    #expect(try shop.run("remote", "set", work.url, "--token-command", " ", vault: "a.vault").status == 2)
    try shop.done("remote", "set", work.url, "--token-command", command, vault: "a.vault")
    // The same address keeps the command and the token.
    try shop.done("remote", "set", work.url, vault: "a.vault")
    #expect(try shown() == (command, true))
    try shop.done("remote", "set", work.url, "--token-file", file, vault: "a.vault")
    #expect(try shown() == (nil, true))
    try shop.done("remote", "set", work.url, "--token-command", command, "--no-check", vault: "a.vault")
    #expect(try shown() == (command, false))
    #expect(try shop.run("sync", vault: "a.vault").status == 0)
    try shop.done("logout", "--yes", vault: "a.vault")
    #expect(try shown() == (nil, false))
    try shop.done("remote", "set", work.url, "--token-command", command, vault: "a.vault")
    try shop.done("remote", "unset", vault: "a.vault")
    #expect(try shown() == (nil, false))
    try shop.done("remote", "set", work.url, "--no-check", vault: "a.vault")
    #expect(try shown() == (nil, false))
  }

  @Test("A token command inherits no variable of the program and no descriptor of the vault") func inheritance() throws
  {
    let work = try SyncWorkshop()
    let shop = work.shop
    let (file, out) = (shop.path("token-a.vault"), shop.path("out"))
    let command = "{ env; for f in /proc/$$/fd/*; do readlink $f; done; } > \(out); cat \(file)"
    try shop.done("remote", "set", work.url, "--token-command", command, vault: "a.vault")
    let text = try String(contentsOfFile: out, encoding: .utf8)
    #expect(text.contains("PATH=") && !text.contains("FIELDVAULT_") && !text.contains("vault.db"), "\(text)")
    #expect(!text.contains("a.vault/"))
  }

  // MARK: Certificates and proxies

  private static let openssl = "/usr/bin/openssl"

  /// A server whose certificate the system does not know, and its certificate.
  private func encryptedServer() throws -> (work: SyncWorkshop, certificate: String) {
    let work = try SyncWorkshop()
    let (certificate, key) = (work.shop.path("cert.pem"), work.shop.path("key.pem"))
    let made = try run(
      Self.openssl,
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=company", "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:sync.example.test", "-keyout", key, "-out", certificate,
      ])
    guard made.status == 0 else { throw Unexpected(made.errors) }
    try work.stop()
    work.serveOptions = ["--tls-cert", certificate, "--tls-key", key]
    try work.start()
    return (work, certificate)
  }

  @Test("The certificates of --ca-file are stored in the vault and accepted for records and files") func authorities()
    throws
  {
    let (work, certificate) = try encryptedServer()
    let shop = work.shop
    let token = shop.path("token-a.vault")
    let strange = try shop.run("remote", "set", work.url, "--token-file", token, vault: "a.vault")
    #expect(strange.status == 7 && strange.errors.contains("certificate is not trusted"), "\(strange.errors)")
    #expect(strange.errors.contains("name the authority of its certificate with --ca-file"), "\(strange.errors)")
    try shop.write("not a certificate\n", to: "text.pem")
    try shop.write(
      String(decoding: try Data(contentsOf: URL(fileURLWithPath: certificate)).prefix(300), as: UTF8.self),
      to: "cut.pem")
    for (file, message) in [
      ("text.pem", "no PEM-encoded certificate in \(shop.path("text.pem"))"),
      ("key.pem", "no PEM-encoded certificate in \(shop.path("key.pem"))"),
      ("cut.pem", "the certificate 1 in \(shop.path("cut.pem")) is damaged"),
    ] {
      let bad = try shop.run(
        "remote", "set", work.url, "--token-file", token, "--ca-file", shop.path(file), vault: "a.vault")
      #expect(bad.status == 10 && bad.errors.contains(message), "\(bad.errors)")
    }
    for vault in ["a.vault", "b.vault"] {
      try shop.done(
        "remote", "set", work.url, "--token-file", shop.path("token-\(vault)"), "--ca-file", certificate, vault: vault)
    }
    #expect(try shop.done("remote", "show", "--json", vault: "a.vault").object()["certificates"] as? Int == 1)
    #expect(try shop.done("remote", "show", vault: "a.vault").output.contains("ca       1 certificate\n"))
    try FileManager.default.removeItem(atPath: certificate)
    // The same address keeps the certificates.
    try shop.done("remote", "set", work.url, vault: "a.vault")
    let project = try work.put("a.vault", "Project", "title=Elm")
    try shop.write("moist", to: "note.txt")
    let attached = try shop.done("attach", "add", "Project", project, "@note.txt", "--json", vault: "a.vault").object()
    let uuid = try #require(attached["uuid"] as? String)
    try work.sync("a.vault")
    try work.sync("b.vault")
    try shop.done("attach", "export", uuid, "@out.txt", vault: "b.vault")
    #expect(try String(contentsOfFile: shop.path("out.txt"), encoding: .utf8) == "moist")
    try shop.done("remote", "unset", vault: "a.vault")
    #expect(try shop.done("remote", "show", "--json", vault: "a.vault").object()["certificates"] as? Int == 0)
  }

  @Test("Export and deletion of the account accept the vault's certificates and ask the token command") func account()
    throws
  {
    let (work, certificate) = try encryptedServer()
    let shop = work.shop
    let command = "cat \(shop.path("token-a.vault"))"
    try shop.done(
      "remote", "set", work.url, "--token-command", command, "--ca-file", certificate, vault: "a.vault")
    _ = try work.put("a.vault", "Project", "title=Elm")
    try work.sync("a.vault")
    _ = try work.administer("user", "revoke", "ada")
    try shop.write(try work.administer("token", "add", "ada"), to: "token-a.vault")
    let exported = try shop.done("account", "export", "@mine", "--json", vault: "a.vault").object()
    #expect(exported["records"] as? Int ?? 0 > 0)
    _ = try work.administer("user", "revoke", "ada")
    try shop.write(try work.administer("token", "add", "ada"), to: "token-a.vault")
    // Ada is not the only user, which the server says only after it has accepted her token.
    let refused = try shop.run("account", "delete", "--yes", vault: "a.vault")
    #expect(refused.status == 11 && refused.errors.contains("only a token with the role admin"), "\(refused.errors)")
  }

  @Test("A server is reached through the tunnel of https_proxy; a proxy that fails is named without its password")
  func proxies() throws {
    let (work, certificate) = try encryptedServer()
    let shop = work.shop
    let port = try #require(work.url.split(separator: ":").last.flatMap { UInt16($0) })
    let words = [
      "remote", "set", "https://sync.example.test", "--token-file", shop.path("token-a.vault"), "--ca-file",
      certificate,
    ]
    let credentials = "Basic " + Data("ada:pa$s".utf8).base64EncodedString()
    let proxy = try ForwardProxy(to: port, credentials: credentials)
    defer { proxy.close() }
    func set(_ variables: [String: String]) throws -> Ran {
      try shop.run(words, vault: "a.vault", environment: variables)
    }
    let known = try set(["https_proxy": "http://ada:pa%24s@127.0.0.1:\(proxy.port)"])
    #expect(known.status == 0, "\(known.errors)")
    #expect(!proxy.lines.isEmpty && proxy.lines.allSatisfy { $0 == "CONNECT sync.example.test:443 HTTP/1.1" })
    let asked = proxy.lines.count
    for (variables, message) in [
      (
        ["https_proxy": "http://ada:wr0ng@127.0.0.1:\(proxy.port)"],
        "the proxy 127.0.0.1:\(proxy.port) requires a user name"
      ),
      (["https_proxy": "http://ada:wr0ng@127.0.0.1:9"], "the proxy 127.0.0.1:9 cannot be reached"),
    ] {
      let ran = try set(variables)
      #expect(ran.status == 7 && ran.errors.contains(message), "\(ran.errors)")
      #expect(!ran.errors.contains("wr0ng"))
    }
    let direct = try set(["https_proxy": "127.0.0.1:\(proxy.port)", "NO_PROXY": "example.test"])
    #expect(direct.status == 7 && direct.errors.contains("host name cannot be resolved"), "\(direct.errors)")
    #expect(proxy.lines.count > asked)
    // A server on this machine needs no proxy.
    let variables = ["https_proxy": "127.0.0.1:9", "http_proxy": "127.0.0.1:9", "ALL_PROXY": "127.0.0.1:9"]
    let local = try shop.run(
      ["remote", "set", work.url, "--token-file", shop.path("token-a.vault"), "--ca-file", certificate],
      vault: "a.vault",
      environment: variables)
    #expect(local.status == 0, "\(local.errors)")
    #expect(try shop.run(["sync"], vault: "a.vault", environment: variables).status == 0)
  }
}
