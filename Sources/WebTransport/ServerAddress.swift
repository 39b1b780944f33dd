import Foundation

/// Where the server is: a scheme, a host, perhaps a port and a folder that all its paths are in.
public struct ServerAddress: Equatable, Sendable, CustomStringConvertible {
  /// The address without a slash at its end.
  public let description: String
  /// The host: a name or an address, without brackets.
  public let host: String
  /// Whether the connection is encrypted.
  public let isEncrypted: Bool

  /// Reads an address such as `https://sync.example.org/vaults`.
  ///
  /// Without encryption (`http://`) the token and every record could be read on the way. So that is for servers on
  /// this machine alone, unless `allowsInsecure` says otherwise.
  ///
  /// - Throws: ``TransportFailure`` with `badAddress` or `insecure`.
  public init(_ text: String, allowsInsecure: Bool = false) throws(TransportFailure) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      let host = parts.host?.lowercased(), !host.isEmpty
    else { throw .badAddress(detail: "it needs a scheme and a host") }
    guard scheme == "https" || scheme == "http" else { throw .badAddress(detail: "its scheme is not https") }
    guard parts.user == nil, parts.password == nil else {
      throw .badAddress(detail: "it has a user or a password; the token takes their place")
    }
    guard parts.query == nil, parts.fragment == nil else { throw .badAddress(detail: "it has a query or a fragment") }
    if let port = parts.port, !(1...65_535).contains(port) { throw .badAddress(detail: "its port is out of range") }
    self.host = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    isEncrypted = scheme == "https"
    description = String(text.reversed().drop { $0 == "/" }.reversed())
    guard isEncrypted || allowsInsecure || isLoopback else {
      throw .insecure(detail: "http:// is for servers on this machine only")
    }
  }

  /// Whether the server runs on this machine: `localhost`, 127.0.0.0/8 or ::1. Such a server needs no network.
  public var isLoopback: Bool {
    if host == "localhost" || host == "::1" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }

  /// The address of a path, such as `/v1/changes`, whose parts are encoded, with a query of names and values, which
  /// are not.
  func url(_ path: String, _ query: [(name: String, value: String)]) -> String {
    let pairs = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
    return description + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
  }

  /// Where a request goes.
  /// - Throws: ``TransportFailure`` `notTheServer` for an address that the server gave and that is somebody else's, when the
  ///   token would go along; `insecure` when what is sent could be read on the way there.
  func url(of request: HTTPRequest) throws(TransportFailure) -> String {
    guard request.path.contains("://") else { return url(request.path, request.query) }
    if isOrigin(of: request.path) { return request.path }
    guard !request.isAuthorized else { throw .notTheServer(detail: "it names an address of another server") }
    try checkForeign(request.path)
    return request.path
  }

  /// Refuses an address of somebody else that is not encrypted. One of this machine is taken from a server that is on it
  /// too: no other has business with what runs here.
  private func checkForeign(_ address: String) throws(TransportFailure) {
    guard let parts = URLComponents(string: address), parts.user == nil, parts.password == nil, parts.fragment == nil,
      let scheme = parts.scheme?.lowercased(), let host = parts.host, !host.isEmpty
    else { throw .notTheServer(detail: "it names an address that is none") }
    if scheme == "https" { return }
    let other = try ServerAddress("\(scheme)://\(host)", allowsInsecure: true)
    guard other.isLoopback, isLoopback else {
      throw .insecure(detail: "the server names an address for files that is not encrypted")
    }
  }

  /// The whole address of what an answer names, which may be relative to the path that was asked for.
  package func resolved(_ location: String, from path: String) -> String? {
    URL(string: path.contains("://") ? path : description + path)
      .flatMap { URL(string: location, relativeTo: $0) }?.absoluteURL.absoluteString
  }

  private func isOrigin(of address: String) -> Bool {
    func origin(_ text: String) -> [String?] {
      let parts = URLComponents(string: text)
      let scheme = parts?.scheme?.lowercased()
      let port = parts?.port ?? (scheme == "https" ? 443 : 80)
      return [scheme, parts?.host?.lowercased(), String(port), parts?.user]
    }
    return origin(address) == origin(description)
  }

  /// A name as one part of a path or of a query: what is not unreserved (RFC 3986, section 2.3) is encoded.
  package static func encoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }
}
