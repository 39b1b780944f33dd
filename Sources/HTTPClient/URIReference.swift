/// A URI reference (RFC 3986), split into its components and never rewritten.
///
/// A text that two parsers could read differently is refused: control characters, white space, backslashes, quotes and
/// characters beyond ASCII. So the host that is checked is the host that libcurl connects to.
package struct URIReference: Equatable, Sendable, CustomStringConvertible {
  /// In lower case; `nil` for a relative reference.
  package var scheme: String?
  /// User, host and port, unchanged, or `nil`.
  package var authority: String?
  package var path: String
  package var query: String?
  package var fragment: String?

  /// Parses a reference by the expression of RFC 3986, appendix B; `nil` if the text is not a reference.
  package init?(_ text: String) {
    guard text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    var rest = text[...]
    if let mark = rest.firstIndex(of: "#") {
      fragment = String(rest[rest.index(after: mark)...])
      rest = rest[..<mark]
    }
    if let mark = rest.firstIndex(of: "?") {
      query = String(rest[rest.index(after: mark)...])
      rest = rest[..<mark]
    }
    if let colon = rest.firstIndex(of: ":"), !rest[..<colon].contains("/") {
      guard Self.isScheme(rest[..<colon].utf8) else { return nil }
      scheme = rest[..<colon].lowercased()
      rest = rest[rest.index(after: colon)...]
    }
    if rest.hasPrefix("//") {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex(of: "/") ?? rest.endIndex
      authority = String(rest[..<end])
      rest = rest[end...]
    }
    path = String(rest)
  }

  /// Resolves this reference against the URI of the document that names it (RFC 3986, section 5.2.2).
  package func resolved(against base: URIReference) -> URIReference {
    var target = self
    if scheme == nil {
      target.scheme = base.scheme
      if authority == nil {
        target.authority = base.authority
        if path.isEmpty {
          target.path = base.path
          target.query = query ?? base.query
          return target
        }
        if !path.hasPrefix("/") { target.path = merged(with: base) }
      }
    }
    target.path = Self.removingDotSegments(target.path)
    return target
  }

  /// The components put together again (RFC 3986, section 5.3).
  package var description: String {
    (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path + (query.map { "?" + $0 } ?? "")
      + (fragment.map { "#" + $0 } ?? "")
  }

  private func merged(with base: URIReference) -> String {
    if base.authority != nil, base.path.isEmpty { return "/" + path }
    return base.path[..<(base.path.lastIndex(of: "/").map { base.path.index(after: $0) } ?? base.path.startIndex)]
      + path
  }

  /// RFC 3986, section 5.2.4.
  static func removingDotSegments(_ path: String) -> String {
    guard !path.isEmpty else { return path }
    var output: [Substring] = []
    var segments = path.split(separator: "/", omittingEmptySubsequences: false)
    let isAbsolute = path.hasPrefix("/")
    if isAbsolute { segments.removeFirst() }
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { output.append("") }
      case "..":
        if !output.isEmpty { output.removeLast() }
        if isLast { output.append("") }
      default: output.append(segment)
      }
    }
    return (isAbsolute ? "/" : "") + output.joined(separator: "/")
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    (0x21...0x7E).contains(byte) && !#""<>\"#.utf8.contains(byte)
  }

  private static func isScheme(_ text: Substring.UTF8View) -> Bool {
    guard let first = text.first, isLetter(first) else { return false }
    return text.allSatisfy { isLetter($0) || isDigit($0) || "+-.".utf8.contains($0) }
  }

  static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
  static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Scheme, host and port of a server (RFC 6454): where a token may go.
package struct Origin: Equatable, Sendable {
  /// `https` or `http`.
  package let scheme: String
  /// In lower case, without brackets.
  package let host: String
  package let port: Int

  /// The reason why a URI has no origin to which a request can be sent.
  package enum Problem: Error, Equatable, Sendable {
    case noSchemeOrHost, notHTTP, hasUser, badHost, badPort

    var message: String {
      switch self {
      case .noSchemeOrHost: "it lacks a scheme or a host"
      case .notHTTP: "its scheme is not https"
      case .hasUser: "it contains a user name or a password; use a token instead"
      case .badHost: "its host is not a name or an address"
      case .badPort: "its port is out of range"
      }
    }
  }

  package init(_ uri: URIReference) throws(Problem) {
    guard let scheme = uri.scheme, let authority = uri.authority, !authority.isEmpty else { throw .noSchemeOrHost }
    guard scheme == "https" || scheme == "http" else { throw .notHTTP }
    guard !authority.contains("@") else { throw .hasUser }
    let (host, port) = try Self.split(authority)
    self.scheme = scheme
    self.host = host
    self.port = port ?? (scheme == "https" ? 443 : 80)
  }

  /// Host and port of an authority without a user.
  private static func split(_ authority: String) throws(Problem) -> (host: String, port: Int?) {
    var rest = authority.lowercased()[...]
    let host: Substring
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { throw .badHost }
      host = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      guard host.contains(":"), host.utf8.allSatisfy({ "0123456789abcdef:.".utf8.contains($0) }) else { throw .badHost }
    } else {
      let end = rest.firstIndex(of: ":") ?? rest.endIndex
      host = rest[..<end]
      rest = rest[end...]
      let isName = host.utf8.allSatisfy {
        URIReference.isLetter($0) || URIReference.isDigit($0) || "-._~".utf8.contains($0)
      }
      guard !host.isEmpty, isName else { throw host.isEmpty ? .noSchemeOrHost : .badHost }
    }
    if rest.isEmpty || rest == ":" { return (String(host), nil) }
    guard rest.first == ":", rest.dropFirst().utf8.allSatisfy(URIReference.isDigit), let port = Int(rest.dropFirst()),
      (1...65_535).contains(port)
    else { throw .badPort }
    return (String(host), port)
  }
}
