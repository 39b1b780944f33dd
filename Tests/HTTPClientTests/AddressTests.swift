import SyncModel
import Testing

@testable import HTTPClient

/// Which addresses are taken, and why not.
@Suite struct AddressTests {
  @Test(
    "A server address is parsed into its base URL and host",
    arguments: [
      ("https://sync.example.org", "https://sync.example.org", "sync.example.org"),
      ("https://sync.example.org/", "https://sync.example.org", "sync.example.org"),
      ("HTTPS://Sync.Example.org:8443/vaults//", "HTTPS://Sync.Example.org:8443/vaults", "sync.example.org"),
      ("http://localhost:8080", "http://localhost:8080", "localhost"),
      ("http://127.8.9.1", "http://127.8.9.1", "127.8.9.1"),
      ("http://[::1]:8080", "http://[::1]:8080", "::1"),
    ])
  func anAddressIsTaken(text: String, description: String, host: String) throws {
    let address = try ServerAddress(text)
    #expect(address.description == description)
    #expect(address.host == host)
  }

  @Test(
    "An invalid address is refused, and the error does not repeat the credentials",
    arguments: [
      "", "sync.example.org", "localhost:8080", "ftp://sync.example.org", "https://", "https:///v1",
      "https://ada:secret@sync.example.org", "https://sync.example.org?a=b", "https://sync.example.org#a",
      "https://sync.example.org:0", "https://sync.example.org:99999", "https://sync example.org", "file:///etc/passwd",
    ])
  func anotherTextIsNone(text: String) {
    let error = #expect(throws: TransportFailure.self) { try ServerAddress(text) }
    guard case .badAddress? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(error?.description.contains("secret") == false)
  }

  @Test(
    "An unencrypted address is refused unless it is a loopback address or explicitly allowed",
    arguments: [
      "http://sync.example.org", "http://10.0.0.1", "http://127.0.0.1.example.org", "http://127.0.0", "http://[::2]",
      "http://localhost.example.org", "http://0127.0.0.1.2",
    ])
  func withoutEncryptionOnlyThisMachine(text: String) throws {
    let error = #expect(throws: TransportFailure.self) { try ServerAddress(text) }
    guard case .insecure? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(try ServerAddress(text, allowsInsecure: true).isLoopback == false)
  }

  @Test("A path is appended to the path of the address, and the query is percent-encoded")
  func aPathGoesBelowTheAddress() throws {
    let address = try ServerAddress("https://sync.example.org/vaults/")
    #expect(address.url("/v1/health", []) == "https://sync.example.org/vaults/v1/health")
    #expect(
      address.url("/v1/changes", [("cursor", "a=&?"), ("limit", "5")])
        == "https://sync.example.org/vaults/v1/changes?cursor=a%3D%26%3F&limit=5")
  }

  @Test(
    "Retry-After is read as seconds or as a date, and is at most one day",
    arguments: [
      ("7", nil, 7), ("0", nil, 0), ("99999999999999999999", nil, 86_400), ("-1", nil, nil), ("1.5", nil, nil),
      ("", nil, nil), ("soon", nil, nil),
      ("Sun, 01 Mar 2026 08:00:30 GMT", "Sun, 01 Mar 2026 08:00:00 GMT", 30),
      ("Sun, 01 Mar 2026 07:00:00 GMT", "Sun, 01 Mar 2026 08:00:00 GMT", 0),
      ("Sun, 01 Mar 2026 08:00:30 GMT", nil, 10), ("Sun, 01 Mar 2026 08:00:30 GMT", "yesterday", 10),
      ("Sun, 01 Mar 2036 08:00:00 GMT", nil, 86_400), ("Sun, 31 Feb 2026 08:00:30 GMT", nil, nil),
      ("Sun, 01 Mär 2026 08:00:30 GMT", nil, nil),
    ] as [(String, String?, Int?)])
  func retryAfterInBothForms(text: String, date: String?, seconds: Int?) {
    // 2026-03-01T08:00:20.500Z, of which a part of a second counts as a whole one.
    #expect(RetryAfter.seconds(text, date: date, now: 1_772_352_020_500) == seconds)
  }

  /// Files go to addresses of others, and the token never does.
  @Test(
    "A request to another host is allowed only without the token and with equal or better encryption",
    arguments: [
      ("https://sync.example.org", "https://s3.example.org/b/k?a=%2F", true),
      ("http://127.0.0.1:8787", "http://127.0.0.1:9000/b/k", true),
      ("http://localhost", "https://s3.example.org", true),
      ("https://sync.example.org", "http://127.0.0.1:9000/b", false),
      ("https://sync.example.org", "http://s3.example.org/b", false), ("http://localhost", "http://10.0.0.1/b", false),
      ("https://sync.example.org", "https://a:b@s3.example.org/b", false),
      ("https://sync.example.org", "https:///b", false), ("http://localhost", "ftp://localhost/b", false),
      ("http://localhost", "file:///etc/passwd", false),
    ])
  func anAddressOfSomebodyElse(server: String, other: String, isTaken: Bool) throws {
    let address = try ServerAddress(server)
    #expect(throws: TransportFailure.self) { try address.url(of: HTTPRequest(other)) }
    let request = HTTPRequest(other, isAuthorized: false)
    if isTaken {
      #expect(try address.url(of: request) == other)
    } else {
      #expect(throws: TransportFailure.self) { try address.url(of: request) }
    }
  }
}
