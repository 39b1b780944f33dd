import CipherSQL
import Foundation
import RawNetwork
import Testing

@testable import HTTPClient

/// Requests through proxies, and the variables that name them.
@Suite struct ProxyTests {
  private static let named: [(url: String, variables: [String: String], name: String?)] = [
    ("https://a.example", ["https_proxy": "p:1"], "p:1"),
    ("https://a.example", ["HTTPS_PROXY": "p:1"], "p:1"),
    ("https://a.example", ["https_proxy": "p:1", "HTTPS_PROXY": "q:1"], "p:1"),
    ("https://a.example", ["https_proxy": "", "ALL_PROXY": "socks5h://q:2"], "q:2"),
    ("https://a.example", ["http_proxy": "p:1"], nil),
    ("http://a.example", ["http_proxy": "http://user:pass@p:1/"], "p:1"),
    // A web server sets this variable from a header of its clients.
    ("http://a.example", ["HTTP_PROXY": "p:1"], nil),
    ("http://a.example", ["https_proxy": "p:1"], nil),
    ("http://a.example", ["all_proxy": "p"], "p:1080"),
    ("https://a.example", ["https_proxy": "https://u:p@ss@[::1]"], "[::1]:443"),
    ("https://a.example", ["https_proxy": "http://[::1]:3128"], "[::1]:3128"),
    ("https://a.example", [:], nil),
  ]

  private static let excepted: [(entry: String, host: String, isExcepted: Bool)] = [
    ("*", "a.example", true), ("a.example", "a.example", true), ("A.Example", "a.EXAMPLE", true),
    ("example", "a.example", true), (".example", "a.example", true), ("b.example, a.example", "a.example", true),
    ("xample", "a.example", false), ("b.a.example", "a.example", false), ("", "a.example", false),
    (".", "a.example", false), ("a.example.", "a.example", true),
    ("10.1.2.3", "10.1.2.3", true), ("10.0.0.0/8", "10.1.2.3", true), ("10.1.2.0/30", "10.1.2.3", true),
    ("10.1.2.0/31", "10.1.2.3", false), ("10.0.0.0/33", "10.1.2.3", false), ("1.2.3", "10.1.2.3", false),
    ("fd00::/8", "[fd12::1]", true), ("fe80::/10", "[fd12::1]", false), ("fd12::1", "[fd12::1]", true),
    ("0.0.0.0/0", "[fd12::1]", false),
  ]

  private func transport(
    _ url: String, _ variables: [String: String], token: String? = "secret-token"
  ) throws -> HTTPTransport {
    HTTPTransport(
      address: try ServerAddress(url, allowsInsecure: true), limits: TransportLimits(), authorities: nil,
      proxies: ProxySettings(variables: variables), renewal: nil, token: { token })
  }

  private func found(_ transport: HTTPTransport) async -> TransportFailure? {
    await failure { () throws(TransportFailure) in try await transport.send(HTTPRequest("/v1/account")) }
  }

  @Test(
    "The variables name a proxy as curl reads them",
    arguments: Self.named)
  func variables(url: String, variables: [String: String], name: String?) {
    #expect(ProxySettings(variables: variables).proxy(for: url + "/v1/push")?.name == name)
  }

  @Test("A server on this machine is never reached through a proxy", arguments: ["localhost", "127.0.0.1", "[::1]"])
  func loopback(host: String) {
    let settings = ProxySettings(variables: ["all_proxy": "p:1"])
    #expect(settings.proxy(for: "https://\(host):8787/v1") == nil && settings.proxy(for: "http://\(host)/v1") == nil)
  }

  @Test(
    "no_proxy excepts hosts, domains and blocks of addresses",
    arguments: Self.excepted)
  func exceptions(entry: String, host: String, isExcepted: Bool) {
    for name in ["no_proxy", "NO_PROXY"] {
      let settings = ProxySettings(variables: ["https_proxy": "p:1", name: entry])
      #expect((settings.proxy(for: "https://\(host)/v1") == nil) == isExcepted)
    }
  }

  @Test("A request to another machine without encryption is forwarded by http_proxy")
  func forwarding() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let proxy = try ForwardProxy(to: server.port)
    defer { proxy.close() }
    let url = "http://plain.example.test"
    let transport = try transport(url, ["http_proxy": "http://127.0.0.1:\(proxy.port)"])
    #expect(try await transport.send(HTTPRequest("/v1/push", body: Array("{}".utf8))).status == 200)
    #expect(proxy.lines == ["POST \(url)/v1/push HTTP/1.1"])
    let request = try #require(server.requests.first)
    #expect(request.line == "POST /v1/push HTTP/1.1" && request.headers["host"] == "plain.example.test")
    #expect(request.headers["authorization"] == "Bearer secret-token" && request.body == Array("{}".utf8))
  }

  @Test("A proxy gets the user name and the password of its URL, and no message has them")
  func credentials() async throws {
    let server = try RawServer(response: healthy)
    defer { server.close() }
    let proxy = try ForwardProxy(to: server.port, credentials: "Basic " + Data("ada:pa$s".utf8).base64EncodedString())
    defer { proxy.close() }
    let url = "http://plain.example.test"
    let known = try transport(url, ["http_proxy": "http://ada:pa%24s@127.0.0.1:\(proxy.port)"])
    #expect(try await known.send(HTTPRequest("/v1/account")).status == 200)
    #expect(server.requests.first?.headers["proxy-authorization"] == nil)
    for (url, name) in [(url, "http_proxy"), ("https://tls.example.test", "https_proxy")] {
      for password in ["", "ada:wrong@"] {
        let unknown = try transport(url, [name: "http://\(password)127.0.0.1:\(proxy.port)"])
        #expect(
          await found(unknown)
            == .proxyFailed(
              proxy: "127.0.0.1:\(proxy.port)",
              detail: "requires a user name and a password that it accepts (status 407)"))
      }
    }
  }

  @Test(
    "A proxy that refuses a tunnel is named, and the server counts as not reached",
    arguments: [401, 403, 407, 502, 503])
  func refusedTunnel(status: Int) async throws {
    let proxy = try ForwardProxy(to: 9, refusingWith: "\(status) No")
    defer { proxy.close() }
    let transport = try transport("https://tls.example.test", ["https_proxy": "127.0.0.1:\(proxy.port)"])
    let failure = try #require(await found(transport))
    #expect(failure.message.hasPrefix("the proxy 127.0.0.1:\(proxy.port) "))
    #expect(failure.message.contains("(status \(status))"))
    #expect(ResponseClass(failure) == .unreachable)
    #expect(proxy.lines == ["CONNECT tls.example.test:443 HTTP/1.1"])
  }

  @Test("A proxy that cannot be reached is named")
  func unreachable() async throws {
    for (address, detail) in [
      ("127.0.0.1:9", "cannot be reached: no connection could be established"),
      ("proxy.invalid:3128", "cannot be reached: its host name cannot be resolved"),
    ] {
      for (url, name) in [("http://plain.example.test", "http_proxy"), ("https://tls.example.test", "https_proxy")] {
        let transport = try transport(url, [name: address])
        #expect(await found(transport) == .proxyFailed(proxy: address, detail: detail))
      }
    }
  }

  @Test("A proxy that ends the connection is named")
  func silent() async throws {
    let proxy = try RawServer { _, _ in false }
    defer { proxy.close() }
    let transport = try transport("https://tls.example.test", ["https_proxy": "127.0.0.1:\(proxy.port)"])
    #expect(await found(transport) == .proxyFailed(proxy: "127.0.0.1:\(proxy.port)", detail: "ended the connection"))
  }
}

/// Certificates of additional authorities.
@Suite struct CertificateAuthoritiesTests {
  private func block(_ bytes: [UInt8]) -> String {
    "-----BEGIN CERTIFICATE-----\n\(Data(bytes).base64EncodedString())\n-----END CERTIFICATE-----\n"
  }

  @Test("Only the certificates of a text are kept")
  func certificates() throws {
    let (one, two): ([UInt8], [UInt8]) = ([0x30, 3, 2, 1, 5], [0x30, 0x81, 0x80] + [UInt8](repeating: 1, count: 128))
    let text =
      "Subject: company\r\n" + block(one).replacing("\n", with: "\r\n")
      + "-----BEGIN PRIVATE KEY-----\nMAMCAQU=\n-----END PRIVATE KEY-----\n" + block(two)
    let authorities = try CertificateAuthorities(pem: text)
    #expect(authorities.count == 2 && authorities.certificates == [one, two])
    #expect(!authorities.pem.contains("PRIVATE KEY") && !authorities.pem.contains("Subject"))
    #expect(try CertificateAuthorities(pem: authorities.pem) == authorities)
  }

  @Test("A text without a whole certificate is refused")
  func refused() {
    for text in ["", "token", "-----BEGIN PRIVATE KEY-----\nMAMCAQU=\n-----END PRIVATE KEY-----"] {
      #expect(throws: CertificateAuthorities.Problem.noCertificate) { try CertificateAuthorities(pem: text) }
    }
    let whole = block([0x30, 3, 2, 1, 5])
    for part in [
      String(whole.dropLast(20)), block([0x30, 4, 2, 1, 5]), block([0x04, 3, 2, 1, 5]), block([]),
      whole.replacing("MAM", with: "M*M"), block([0x30, 0x85, 0, 0, 0, 0, 1, 1]), block([0x30, 0x82, 1]),
    ] {
      #expect(throws: CertificateAuthorities.Problem.damaged(number: 2)) {
        try CertificateAuthorities(pem: whole + part)
      }
    }
  }
}
