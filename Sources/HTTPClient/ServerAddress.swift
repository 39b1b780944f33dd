/// The address of a server: a scheme, a host, and optionally a port and a folder that contains all its paths.
public struct ServerAddress: Equatable, Sendable, CustomStringConvertible {
  /// The address without a slash at its end.
  public let description: String
  /// The only origin that receives the token.
  package let origin: Origin
  /// The host: a name or an address, without brackets.
  public var host: String { origin.host }
  /// Whether the connection is encrypted.
  public var isEncrypted: Bool { origin.scheme == "https" }

  /// Reads an address such as `https://sync.example.org/vaults`.
  ///
  /// Without encryption (`http://`), the network could read the token and every record. `http://` is therefore allowed
  /// only for servers on this machine, unless `allowsInsecure` is set.
  ///
  /// - Throws: ``TransportFailure`` with `badAddress` or `insecure`.
  public init(_ text: String, allowsInsecure: Bool = false) throws(TransportFailure) {
    guard let uri = URIReference(text) else {
      throw .badAddress(detail: "it contains an invalid character; write international names as xn--")
    }
    do throws(Origin.Problem) {
      origin = try Origin(uri)
    } catch {
      throw .badAddress(detail: error.message)
    }
    guard uri.query == nil, uri.fragment == nil else { throw .badAddress(detail: "it has a query or a fragment") }
    guard !Self.hasDotSegment(uri.path) else { throw .badAddress(detail: "its path has a '.' or '..'") }
    description = String(text.reversed().drop { $0 == "/" }.reversed())
    guard isEncrypted || allowsInsecure || isLoopback else {
      throw .insecure(detail: "http:// is for servers on this machine only")
    }
  }

  /// Whether the server runs on this machine: `localhost`, 127.0.0.0/8 or ::1. Such a server needs no network.
  public var isLoopback: Bool { Self.isLoopback(host) }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    return numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
  }

  /// Returns the address of a path, such as `/v1/changes`, whose segments are encoded already, with a query of names
  /// and values, which are encoded here.
  func url(_ path: String, _ query: [(name: String, value: String)]) -> String {
    let pairs = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
    return description + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
  }

  /// Returns the URL of a request, with its origin checked. Every request passes here, and only this function decides
  /// which origin may receive the token.
  /// - Throws: ``TransportFailure`` `notTheServer` for a URL of another origin if the request has the token, and for a
  ///   path with dot segments; `insecure` if the request would not be encrypted.
  func url(of request: HTTPRequest) throws(TransportFailure) -> String {
    if request.path.hasPrefix("/") {
      let text = url(request.path, request.query)
      guard let uri = URIReference(text), isOrigin(of: uri), uri.fragment == nil, !request.path.hasPrefix("//"),
        !Self.hasDotSegment(uri.path)
      else { throw .notTheServer(detail: "it returned an invalid path") }
      return text
    }
    guard let uri = URIReference(request.path), uri.fragment == nil else { throw Self.noAddress }
    if !isOrigin(of: uri) {
      guard !request.isAuthorized else { throw .notTheServer(detail: "it returned an address on another server") }
      try checkForeign(uri)
    }
    return uri.description
  }

  /// Returns the URL of a reference in a response, resolved against the path or URL of that request (RFC 3986). The
  /// result may have another origin: ``url(of:)`` refuses that if the token would be sent.
  /// - Throws: ``TransportFailure`` `notTheServer` if the text is not a reference.
  package func resolved(_ reference: String, from path: String) throws(TransportFailure) -> String {
    let base = URIReference(path.hasPrefix("/") ? description + path : path)
    guard let base, base.scheme != nil, let reference = URIReference(reference) else { throw Self.noAddress }
    var target = reference.resolved(against: base)
    target.fragment = nil
    return target.description
  }

  /// Whether a request to a URL may carry the token.
  package func isOrigin(of url: String) -> Bool { URIReference(url).map(isOrigin) ?? false }

  private func isOrigin(of uri: URIReference) -> Bool {
    do throws(Origin.Problem) {
      return try Origin(uri) == origin
    } catch {
      return false
    }
  }

  private static let noAddress = TransportFailure.notTheServer(detail: "it returned an invalid address")

  /// Refuses an unencrypted address of another server. An address of this machine is accepted only from a server on
  /// this machine, because other servers must not reach local services.
  private func checkForeign(_ uri: URIReference) throws(TransportFailure) {
    let other: Origin
    do throws(Origin.Problem) {
      other = try Origin(uri)
    } catch {
      throw Self.noAddress
    }
    guard other.scheme == "https" || Self.isLoopback(other.host) && isLoopback else {
      throw .insecure(detail: "the server returned an unencrypted address for files")
    }
  }

  /// Whether a path has a segment that leads to another one, also when its dots are encoded.
  package static func hasDotSegment(_ path: String) -> Bool {
    path.split(separator: "/").contains { segment in
      [".", ".."].contains(segment.lowercased().replacing("%2e", with: "."))
    }
  }

  /// Encodes a name as one segment of a path or of a query: every character that is not unreserved (RFC 3986, section
  /// 2.3).
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
