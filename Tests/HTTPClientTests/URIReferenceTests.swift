import TestSupport
import Testing

@testable import HTTPClient

/// References are resolved as RFC 3986 says, and the token stays with its origin.
@Suite struct URIReferenceTests {
  /// RFC 3986, sections 5.4.1 and 5.4.2; `http:g` in the strict form.
  @Test(
    "A reference resolves as in the examples of RFC 3986",
    arguments: [
      ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
      ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
      ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
      (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
      ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
      ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
      ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
      ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
      ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
      ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
      ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
      ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
  func examples(reference: String, target: String) throws {
    let base = try #require(URIReference("http://a/b/c/d;p?q"))
    #expect(try #require(URIReference(reference)).resolved(against: base).description == target)
  }

  @Test("A base without a path and a path with empty segments resolve as RFC 3986 says")
  func edges() throws {
    for (base, reference, target) in [
      ("http://a", "g", "http://a/g"), ("http://a?q", "?y", "http://a?y"), ("http://a/b//c", "../g", "http://a/b/g"),
      ("http://a/b/", "..//g", "http://a//g"),
    ] {
      let base = try #require(URIReference(base))
      #expect(try #require(URIReference(reference)).resolved(against: base).description == target)
    }
    #expect(URIReference.removingDotSegments("/a/b/c/./../../g") == "/a/g")
    #expect(URIReference.removingDotSegments("mid/content=5/../6") == "mid/6")
  }

  @Test(
    "A text that parsers read differently is no reference",
    arguments: [
      " a", "a b", "a\tb", "a\nb", "a\u{0}", "a\u{7F}", "\\\\evil", "http:\\\\evil", "ä", "<a>", "\"a", "1:a",
    ])
  func refused(text: String) { #expect(URIReference(text) == nil) }

  /// Responses and route files that try to have the token sent to another host.
  private static let attacks = [
    "@evil.org/x", ".evil.org/x", ":8080/x", ":pass@evil.org/", "//evil.org/x", "///evil.org/x", "/\\evil.org",
    "\\\\evil.org/x",
    "https://evil.org/x", "https:evil.org/x", "https:///evil.org/x", "https://api.example.org@evil.org/x",
    "https://api.example.org.evil.org/x", "https://api.example.org:8443/x", "http://api.example.org/x",
    "https://user@api.example.org/x", "https://evil.org\\@api.example.org/x", "https://evil.org#@api.example.org/x",
    "https://api.example.org%2F@evil.org/x", "https://api%2Eexample.org/x", "https://[api.example.org]/x",
    "ftp://api.example.org/x", "javascript:alert(1)", "x", "", "?a", "#a", "https://api.example.org/x#a", "/x#a",
    "/a/../b", "/a/%2e%2e/b", "/./a", "/%2E", "/a b", "/a\r\nHost: evil.org", "https://api.example.org:0443 /x",
  ]

  @Test("A path or an address that is not of the server's origin is refused before a request", arguments: attacks)
  func refusedBeforeARequest(path: String) throws {
    let address = try ServerAddress("https://api.example.org/api")
    #expect(throws: TransportFailure.self) { try address.url(of: HTTPRequest(path)) }
  }

  @Test("A resolved reference is of the same origin, or is refused with the token", arguments: attacks)
  func resolvedIsChecked(reference: String) throws {
    let address = try ServerAddress("https://api.example.org/api")
    for page in ["/v1/items", "https://api.example.org/api/v1/items?page=1"] {
      guard let url = try? address.resolved(reference, from: page) else { continue }
      if let sent = try? address.url(of: HTTPRequest(url)) {
        #expect(sent.hasPrefix("https://api.example.org/"), "\(sent)")
      } else {
        #expect(!address.isOrigin(of: url) || url.contains(" "), "\(url)")
      }
    }
  }

  @Test("A random reference never leads a request with the token to another host")
  func random() throws {
    let seed = UInt64.random(in: .min ... .max)
    var random = Seeded(seed)
    let pieces = [
      "https:", "http:", "//", "/", "@", ":", ".", "..", "evil.org", "api.example.org", "api.example.org:443", "%2e",
      "%2f", "?",
      "#", "\\", "[", "]", "a", "80", "\t", " ", "%00", "ä",
    ]
    let address = try ServerAddress("https://api.example.org/api")
    for _ in 0..<20_000 {
      let count = Int.random(in: 1...6, using: &random)
      let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      for path in [text, (try? address.resolved(text, from: "/v1/items?a")) ?? text] {
        guard let url = try? address.url(of: HTTPRequest(path)) else { continue }
        let rest = url.dropFirst("https://api.example.org".count)
        let isBelow =
          url.hasPrefix("https://api.example.org") && (rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?"))
        // An empty port is the usual one.
        let port = rest.prefix { $0 != "/" && $0 != "?" }
        #expect(isBelow || [":", ":443"].contains(port), "seed \(seed): \(text) is \(url)")
      }
    }
  }

  @Test(
    "The transport refuses headers that it sets itself",
    arguments: [
      "Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Expect", "Proxy-Authorization",
      "Authorization", "X Y", "X:Y", "", "X\r\nY",
    ])
  func headers(name: String) async throws {
    let transport = HTTPTransport(address: try ServerAddress("http://127.0.0.1:1")) { "token" }
    var request = HTTPRequest("/")
    request.headers = [(name, "value")]
    let asked = request
    let failure = await #expect(throws: TransportFailure.self) { try await transport.send(asked) }
    #expect(failure == .badHeader)
  }
}
